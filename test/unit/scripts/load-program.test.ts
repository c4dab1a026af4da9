import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../../support/eventually';

/** What a program compiles to is kept between processes, and nothing else about it changes. */

const LOADER = resolve(__dirname, '../../../scripts/load-program.cjs');
const START = `require(${JSON.stringify(LOADER)}).loadProgram(process.env.PROGRAM, process.env.COMPILED)`;
/** Later ones keep it by themselves. */
const testOnNode20 = process.versions.node.startsWith('20.') ? test : test.skip;

let folder: string;
let program: string;
let compiled: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'load-program-'));
  program = join(folder, 'program.js');
  compiled = join(folder, 'compiled');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the program, after it was changed to `source`, in a process of its own; answers what it printed. */
function run(source?: string): string {
  if (source !== undefined) writeFileSync(program, source);
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', START], {
    cwd: folder,
    env: { ...process.env, PROGRAM: program, COMPILED: compiled },
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.trim();
}

const codeFile = (): string => join(compiled, readdirSync(compiled)[0]);

test('a program that has changed runs as it is now, even if it has the same length', () => {
  expect(run('console.log((() => 1)())')).toBe('1');
  expect(run()).toBe('1');
  expect(run('console.log((() => 2)())')).toBe('2');
  expect(run()).toBe('2');
});

testOnNode20('what it compiled to is written once, and read by the next process', () => {
  run("console.log('as ever')");
  const { mtimeNs } = statSync(codeFile(), { bigint: true });
  // Whoever compiles it writes the file again.
  expect(run()).toBe('as ever');
  expect(statSync(codeFile(), { bigint: true }).mtimeNs).toBe(mtimeNs);
});

testOnNode20.each([
  ['a process', START],
  [
    'threads',
    `const { Worker } = require('node:worker_threads');
    for (let i = 0; i < 3; i++) new Worker(${JSON.stringify(START)}, { eval: true });`,
  ],
])('%s that a kill ends left what it compiled to', async (_, start) => {
  writeFileSync(program, "if (process.env.STAYS) setInterval(() => {}, 1_000); else console.log('as ever');");
  const child = spawn(process.execPath, ['-e', start], {
    env: { ...process.env, PROGRAM: program, COMPILED: compiled, STAYS: '1' },
    stdio: 'ignore',
  });
  const ended = new Promise((done) => child.once('exit', done));
  const kept = join(compiled, `program.js.${process.version}-${process.arch}`);
  try {
    await eventually('it is there', () => existsSync(kept));
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
  const { mtimeNs } = statSync(kept, { bigint: true });
  expect(run()).toBe('as ever');
  expect(statSync(kept, { bigint: true }).mtimeNs).toBe(mtimeNs);
});

testOnNode20(
  'code that is damaged or cut short is thrown away, and a folder that can not be written is done without',
  () => {
    run("console.log('as ever')");
    const good = readFileSync(codeFile());
    for (const bad of [
      Buffer.from(good).fill(7, good.length - 40, good.length - 20),
      good.subarray(0, good.length / 2),
      Buffer.alloc(3),
    ]) {
      writeFileSync(codeFile(), bad);
      expect(run()).toBe('as ever');
      expect(readFileSync(codeFile())).toHaveLength(good.length);
    }
    compiled = program;
    expect(run()).toBe('as ever');
  },
);

test('it finds its modules and its place, and its errors name file and line, compiled anew or not', () => {
  mkdirSync(join(folder, 'node_modules', 'beside'), { recursive: true });
  writeFileSync(join(folder, 'node_modules', 'beside', 'index.js'), 'exports.name = "beside";');
  const source = `
    const { dirname, basename } = require('node:path');
    function traced() {
      return new Error('here').stack.split('\\n')[1].replace(__dirname, '').trim();
    }
    console.log(JSON.stringify([dirname(__filename) === __dirname, basename(require.resolve('./program.js')), require('beside').name, traced()]));`;
  const expected = JSON.stringify([true, 'program.js', 'beside', 'at traced (/program.js:4:14)']);
  expect(run(source)).toBe(expected);
  expect(run()).toBe(expected);
});
