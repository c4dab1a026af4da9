import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A line of a script: `move books/0 to=c` has the name `move`, the words `books/0` and the option `to`. */
export interface ScriptCommand {
  name: string;
  words: string[];
  options: Record<string, string>;
}

/**
 * Carries a command out and answers what there was to see, a line each. Errors end the story; they are never written
 * down.
 */
export type Interpreter = (command: ScriptCommand) => string[];

const BETWEEN = '----';

/**
 * One test for each script of a folder, as etcd raft's datadriven tests do. A script is blocks with a blank
 * line between them: notes behind `#`, commands, `----`, and what they answer. The whole is compared, so that a wrong
 * answer shows as a difference within its story. `UPDATE=1` writes the answers again; then the difference is git's to
 * show.
 *
 * @param begin a new world for each script
 */
export function testGoldenScripts(folder: string, begin: () => Interpreter): void {
  const names = readdirSync(folder).filter((name) => name.endsWith('.txt'));
  if (names.length === 0) throw new Error(`no scripts in ${folder}`);
  test.each(names.sort().map((name) => [name.replace(/\.txt$/, '').replaceAll('-', ' '), name]))(
    '%s',
    (_title, name) => {
      const file = join(folder, name);
      const script = readFileSync(file, 'utf8');
      const replayed = replay(script, begin());
      if (process.env.UPDATE === '1') writeFileSync(file, replayed);
      else expect(replayed).toBe(script);
    },
  );
}

function replay(script: string, interpret: Interpreter): string {
  const blocks = script
    .trim()
    .split(/\n{2,}/)
    .map((block) => {
      const lines = block.split('\n');
      const asked = lines.includes(BETWEEN) ? lines.slice(0, lines.indexOf(BETWEEN)) : lines;
      const commands = asked.filter((line) => !line.startsWith('#'));
      if (commands.length === 0) return block;
      return [...asked, BETWEEN, ...commands.flatMap((line) => interpret(commandOf(line)))].join('\n');
    });
  return `${blocks.join('\n\n')}\n`;
}

function commandOf(line: string): ScriptCommand {
  const [name, ...rest] = line.split(/\s+/);
  const isOption = (word: string): boolean => word.includes('=');
  const options = Object.fromEntries(rest.filter(isOption).map((word) => word.split('=', 2)));
  return { name, words: rest.filter((word) => !isOption(word)), options };
}
