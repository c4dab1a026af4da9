import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { buildProgram } from '../../../cli/program';
import { EXIT_CODES } from '../../../cli/command-error';

/** docs/command-line.md says what the commands say of themselves; `UPDATE=1` writes that part anew. */

const page = join(resolve(__dirname, '../../..'), 'docs/command-line.md');
const HEAD = '## Commands\n';

const program = buildProgram({
  version: '0.0.0',
  environment: {},
  input: new PassThrough(),
  output: new PassThrough(),
  messages: new PassThrough(),
  signal: new AbortController().signal,
  exitWith: () => {},
});

function leaves(command: Command, path = ''): { path: string; command: Command }[] {
  return command.commands.flatMap((one) => {
    const name = path === '' ? one.name() : `${path} ${one.name()}`;
    return one.commands.length > 0 ? leaves(one, name) : [{ path: name, command: one }];
  });
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

function section({ path, command }: { path: string; command: Command }): string {
  const words = [path, ...command.registeredArguments.map((one) => (one.required ? `<${one.name()}${one.variadic ? '…' : ''}>` : `[${one.name()}${one.variadic ? '…' : ''}]`))];
  const rows = command.options.map(({ flags, description, defaultValue, argChoices }) => {
    const notes = [
      ...(argChoices === undefined ? [] : [argChoices.join(', ')]),
      ...(defaultValue === undefined || defaultValue === true || defaultValue === '' ? [] : [`default ${String(defaultValue)}`]),
    ];
    return `| \`${flags}\` | ${cell(description)}${notes.length === 0 ? '' : ` (${cell(notes.join('; '))})`} |\n`;
  });
  return `\n### quiver ${path}\n\`quiver ${words.join(' ')}\`: ${cell(command.description())}\n${rows.length === 0 ? '' : `\n| option | |\n|---|---|\n${rows.join('')}`}`;
}

describe('the command line', () => {
  test('is on its page as it is', () => {
    const text = readFileSync(page, 'utf8');
    const at = text.indexOf(HEAD) + HEAD.length;
    const sections = leaves(program).map(section).join('');
    if (process.env.UPDATE === '1') writeFileSync(page, text.slice(0, at) + sections);
    else expect(text.slice(at)).toBe(sections);
  });

  test('has its exit codes on the page', () => {
    const text = readFileSync(page, 'utf8');
    expect([...text.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code))).toEqual(Object.values(EXIT_CODES));
  });

  test('has a description for every command, argument that needs one, and option', () => {
    const nameless = leaves(program).flatMap(({ path, command }) => [
      ...(command.description() === '' ? [path] : []),
      ...command.options.filter(({ description }) => description === '').map(({ flags }) => `${path} ${flags}`),
    ]);
    expect(nameless).toEqual([]);
    expect(leaves(program).map(({ path }) => path)).toEqual(
      expect.arrayContaining(['embedded', 'collections', 'create', 'delete', 'search', 'import', 'export', 'keys create', 'cluster', 'drain', 'bench', 'completion']),
    );
  });
});
