import { mkdirSync, mkdtempSync, renameSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually } from '../../support/eventually';

const { DevLoop } = require(resolve(__dirname, '../../../scripts/dev-loop.cjs'));

/** What `npm run dev` does with changes of a folder, with a service that only notes its starts and stops. */

let folder: string;
let loop: { begin(): Promise<void>; close(): Promise<void> };
let events: string[];
let said: string[];
let build: () => Promise<unknown>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-dev-loop-'));
  mkdirSync(join(folder, 'room'));
  events = [];
  said = [];
  build = async () => undefined;
  loop = new DevLoop({
    folders: [folder],
    build: async () => {
      events.push('build');
      await build();
    },
    start: async () => {
      events.push('start');
      return { stop: async () => void events.push('stop') };
    },
    say: (line: string) => said.push(line),
  });
});
afterEach(async () => {
  await loop.close();
  rmSync(folder, { recursive: true });
});

/** Resolves when the service has started `count` times in all. */
const started = (count: number): Promise<void> =>
  eventually('it has started', () => events.filter((event) => event === 'start').length === count);

test('a source that changes is built, and the service starts again; so is one in a new folder, and one that is saved by renaming', async () => {
  await loop.begin();
  expect(events).toEqual(['build', 'start']);
  writeFileSync(join(folder, 'room', 'a.ts'), '1');
  await started(2);
  expect(events.slice(2)).toEqual(['build', 'stop', 'start']);
  mkdirSync(join(folder, 'new'));
  await started(3);
  writeFileSync(join(folder, 'new', 'b.ts.part'), '1');
  renameSync(join(folder, 'new', 'b.ts.part'), join(folder, 'new', 'b.ts'));
  await started(4);
  await loop.close();
  expect(events.at(-1)).toBe('stop');
});

test('a build that fails is told, and the service that runs goes on; the next change mends it', async () => {
  await loop.begin();
  build = () => Promise.reject(new Error('a.ts:1: no such thing'));
  writeFileSync(join(folder, 'a.ts'), '1');
  await eventually('it is told', () => said.includes('a.ts:1: no such thing\nwaits for a change'));
  expect(events).toEqual(['build', 'start', 'build']);
  build = async () => undefined;
  writeFileSync(join(folder, 'a.ts'), '2');
  await started(2);
  expect(events.slice(3)).toEqual(['build', 'stop', 'start']);
});

test('what changes during a build is built, too, before the service starts', async () => {
  await loop.begin();
  build = async () => {
    build = async () => undefined;
    // This watcher is told after the one that the loop has had for longer.
    const isTold = new Promise<void>((done) => {
      const watcher = watch(folder, (_, name) => {
        if (name !== 'b.ts') return;
        watcher.close();
        done();
      });
    });
    writeFileSync(join(folder, 'b.ts'), '1');
    await isTold;
  };
  writeFileSync(join(folder, 'a.ts'), '1');
  await started(2);
  expect(events).toEqual(['build', 'start', 'build', 'build', 'stop', 'start']);
});

test('what is no source starts nothing', async () => {
  await loop.begin();
  for (const name of ['a.log', 'a.ts~', '.a.ts.swp', 'dist']) writeFileSync(join(folder, name), '1');
  writeFileSync(join(folder, 'last.ts'), '1');
  await started(2);
  expect(events).toEqual(['build', 'start', 'build', 'stop', 'start']);
});
