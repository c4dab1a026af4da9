import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { buildProgram } from '../../../cli/program';
import { EXIT_CODES } from '../../../cli/command-error';

/** docs/command-line.md says what the commands say of themselves; `UPDATE=1` writes that part again. */

const page = join(resolve(__dirname, '../../..'), 'docs/command-line.md');
const HEAD = '## Commands\n';

const program = buildProgram({
  version: '0.0.0',
  scripts: '',
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

const angled = (text: string): string => text.replaceAll('<', '&lt;');

function rowsOf(command: Command): string[] {
  return command.options.map(({ flags, description, defaultValue, argChoices }) => {
    const notes = [
      ...(argChoices === undefined ? [] : [argChoices.join(', ')]),
      ...(defaultValue === undefined || defaultValue === true || defaultValue === ''
        ? []
        : [`default ${String(defaultValue)}`]),
    ];
    return `- \`${flags}\`: ${angled(description)}${notes.length === 0 ? '' : ` (${angled(notes.join('; '))})`}\n`;
  });
}

/** Options that many commands have in the same words: said once, and by their name at each of these. */
const SHARED: readonly { title: string; name: string; of: string; flags: RegExp }[] = [
  { title: 'Options of a filter', name: 'filter', of: 'search', flags: /^- `--(filter|where)\b/ },
  { title: 'Options of a service', name: 'service', of: 'collections', flags: /^- `--(url|profile|timeout)\b/ },
  {
    title: 'Options of a new collection',
    name: 'new collection',
    of: 'create',
    flags:
      /^- `--(metric|description|language|keyword-fields|no-keyword-positions|quantization|metadata-on|vectors-on|shards|replicas|ttl-seconds)\b/,
  },
];

const shared = SHARED.map(({ title, name, of, flags }) => {
  const [{ command }] = leaves(program).filter(({ path }) => path === of);
  return { title, name, rows: rowsOf(command).filter((row) => flags.test(row)) };
});

function section({ path, command }: { path: string; command: Command }): string {
  const words = [
    path,
    ...command.registeredArguments.map((one) =>
      one.required ? `<${one.name()}${one.variadic ? '…' : ''}>` : `[${one.name()}${one.variadic ? '…' : ''}]`,
    ),
  ];
  const rows = rowsOf(command);
  const groups = shared.filter((group) => group.rows.every((row) => rows.includes(row)));
  const links = groups.map(({ title, name }) => `[${name}](#${title.toLowerCase().replaceAll(' ', '-')})`);
  const own = rows.filter((row) => !groups.some((group) => group.rows.includes(row)));
  const head = `\n### quiver ${path}\n${words.length === 1 ? '' : `\`${words.slice(1).join(' ')}\`: `}${angled(command.description())}${links.length === 0 ? '' : `; options: ${links.join(', ')}`}\n`;
  return own.length === 0 ? head : `${head}\n${own.join('')}`;
}

function commandsPart(): string {
  const groups = shared.map(({ title, rows }) => `\n### ${title}\n\n${rows.join('')}`);
  return [...groups, ...leaves(program).map(section)].join('');
}

describe('the command line', () => {
  test('is on its page as it is', () => {
    const text = readFileSync(page, 'utf8');
    const at = text.indexOf(HEAD) + HEAD.length;
    const sections = commandsPart();
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
      expect.arrayContaining([
        'embedded',
        'collections',
        'create',
        'delete',
        'search',
        'import',
        'export',
        'keys create',
        'cluster',
        'drain',
        'bench',
        'completion',
      ]),
    );
  });
});
