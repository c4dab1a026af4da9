import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';
import type { QuiverError } from '../../shared/base/errors/quiver-error';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * What is on the disk of a record store is changed behind its back. Whatever is changed: the open fails and names the
 * damage, or the check of the tables does, or nothing is missing and nothing is wrong.
 */

const ENTRIES = 400;
const ROUNDS = 60;
/** Of the file SYNCED (node/engine/kv/native/manifest_watermark.h). */
const MANIFEST_WATERMARK_AT = 2 * 4096;
const random = seededRandom(runSeed('store-damage'));
const folders: string[] = [];
/** A store that a SIGKILL ended: half of its entries in a table, the other half in the log. */
let sound: string;

const keyOf = (i: number): Buffer => Buffer.from(`key-${String(i).padStart(6, '0')}`);
const valueOf = (i: number): Buffer => Buffer.from(`value of ${i} `.repeat(20 + (i % 30)));
const everything = { from: Buffer.from('key-'), to: Buffer.from('key.') };

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-damage-'));
  folders.push(folder);
  return folder;
}

beforeAll(async () => {
  sound = newFolder();
  // What is recovered from the log at an open becomes a table.
  for (const from of [0, ENTRIES / 2]) {
    const program = `
      require(${JSON.stringify(resolve(__dirname, '../support/swc-register.js'))});
      const { RocksKeyValueStore } = require(${JSON.stringify(resolve(__dirname, '../../node/engine/kv/rocks-key-value-store.ts'))});
      const keyOf = ${keyOf.toString()}; const valueOf = ${valueOf.toString()};
      RocksKeyValueStore.open(${JSON.stringify(sound)}).then(async (store) => {
        for (let i = ${from}; i < ${from + ENTRIES / 2}; i++) await store.write([{ type: 'put', key: keyOf(i), value: valueOf(i) }], { sync: true });
        process.kill(process.pid, 'SIGKILL');
      });`;
    expect(spawnSync(process.execPath, ['-e', program], { stdio: ['ignore', 'ignore', 'inherit'] }).signal).toBe(
      'SIGKILL',
    );
  }
});
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function filesOf(folder: string, ending: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending) && statSync(join(folder, name)).size > 0)
    .map((name) => join(folder, name));
}

type Verdict = { told: 'open' | 'check' | 'read'; place: string } | 'harmless';

/** What becomes of a store: `harmless` only if every entry is there and right. */
async function verdictOf(folder: string): Promise<Verdict> {
  let store: RocksKeyValueStore;
  const told = (when: 'open' | 'check' | 'read') => (error: unknown) => {
    const { kind, details } = error as QuiverError;
    expect(kind).toBe('storage_damaged');
    expect(String(details.place)).not.toBe('');
    return { told: when, place: String(details.place) };
  };
  try {
    store = await RocksKeyValueStore.open(folder);
  } catch (error) {
    return told('open')(error);
  }
  try {
    try {
      await store.verify({ bytesPerSecond: Infinity, stop: new AbortController().signal });
    } catch (error) {
      return told('check')(error);
    }
    let next = 0;
    try {
      for await (const page of store.scan(everything)) {
        for (const { key, value } of page) {
          expect(key).toEqual(keyOf(next));
          expect(value.equals(valueOf(next))).toBe(true);
          next += 1;
        }
      }
    } catch (error) {
      if ((error as QuiverError).kind === undefined) throw error;
      return told('read')(error);
    }
    expect(next).toBe(ENTRIES);
    return 'harmless';
  } finally {
    await store.close();
  }
}

/** Copies the sound store, harms one file of it, and says what became of it. */
async function harmed(
  ending: string,
  harm: (path: string) => void,
): Promise<{ verdict: Verdict; folder: string; file: string }> {
  const folder = newFolder();
  cpSync(sound, folder, { recursive: true });
  const files = filesOf(folder, ending);
  expect(files.length).toBeGreaterThan(0);
  const file = files[Math.floor(random() * files.length)];
  harm(file);
  return { verdict: await verdictOf(folder), folder, file };
}

function flipBit(path: string): void {
  const bytes = readFileSync(path);
  bytes[Math.floor(random() * bytes.length)] ^= 1 << Math.floor(random() * 8);
  writeFileSync(path, bytes);
}

function zeroSome(path: string): void {
  const bytes = readFileSync(path);
  const at = Math.floor(random() * bytes.length);
  bytes.fill(0, at, Math.min(bytes.length, at + 1 + Math.floor(random() * 5000)));
  writeFileSync(path, bytes);
}

const cutShort = (path: string): void => truncateSync(path, Math.floor(random() * statSync(path).size));

test('the store that is harmed below is whole', async () => {
  const folder = newFolder();
  cpSync(sound, folder, { recursive: true });
  expect(filesOf(folder, '.sst').length).toBeGreaterThan(0);
  expect(filesOf(folder, '.log').length).toBeGreaterThan(0);
  expect(await verdictOf(folder)).toBe('harmless');
});

test.each([
  ['bits flipped in the log', '.log', flipBit],
  ['zeros in the log', '.log', zeroSome],
  ['a log cut short', '.log', cutShort],
])('%s: the open fails and names the file, or nothing is missing', async (_name, ending, harm) => {
  let told = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { verdict } = await harmed(ending, harm);
    if (verdict === 'harmless') continue;
    expect(verdict.told).toBe('open');
    expect(verdict.place).toMatch(/were on stable storage|\.log/);
    told += 1;
  }
  // Every byte of it is a record that was acknowledged.
  expect(told).toBeGreaterThan(ROUNDS * 0.9);
});

test.each([
  ['bits flipped in a table', '.sst', flipBit],
  ['zeros in a table', '.sst', zeroSome],
  ['a table cut short', '.sst', cutShort],
])('%s: the open or the check of the tables tells, or nothing is wrong', async (_name, ending, harm) => {
  let told = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { verdict } = await harmed(ending, harm);
    if (verdict === 'harmless') continue;
    expect(verdict.told).not.toBe('read');
    // RocksDB calls a table's properties by the name of the manifest that lists it.
    expect(verdict.place).toMatch(/\.sst|MANIFEST/);
    told += 1;
  }
  expect(told).toBeGreaterThan(ROUNDS * 0.8);
});

test('a manifest that is cut anywhere, or has zeros from there on, is told: tables that it lists no more would be removed, and later changes in the log hide that', async () => {
  const [manifest] = filesOf(sound, '').filter((path) => path.includes('MANIFEST'));
  const whole = readFileSync(manifest);
  for (let size = 0; size < whole.length; size++) {
    const cut = await harmed(basename(manifest), (path) => truncateSync(path, size));
    expect(cut.verdict).toMatchObject({ told: 'open', place: expect.stringContaining('MANIFEST') });
    // As who has it open makes it, and goes on behind the cut.
    const zeros = await harmed(basename(manifest), (path) => writeFileSync(path, Buffer.from(whole).fill(0, size)));
    if (!whole.subarray(size).every((byte) => byte === 0))
      expect(zeros.verdict).toMatchObject({ told: 'open', place: expect.stringContaining('MANIFEST') });
  }
});

test('a manifest of which a sync is not marked, as after a loss of power, is as good as before', async () => {
  const { verdict } = await harmed('SYNCED', (path) => {
    const bytes = readFileSync(path);
    // What was marked by then is the start of the manifest.
    writeFileSync(path, bytes.fill(0, MANIFEST_WATERMARK_AT));
  });
  expect(verdict).toBe('harmless');
});

test('files that are gone are told', async () => {
  for (const ending of ['.log', '.sst', 'CURRENT']) {
    const { verdict } = await harmed(ending, (path) => rmSync(path));
    expect(verdict).toMatchObject({ told: 'open' });
  }
  const { verdict } = await harmed('CURRENT', (path) =>
    filesOf(resolve(path, '..'), '')
      .filter((one) => one.includes('MANIFEST'))
      .forEach((one) => rmSync(one)),
  );
  expect(verdict).toMatchObject({ told: 'open' });
});

test('an open that fails changes nothing: with the byte put right, everything is there', async () => {
  const folder = newFolder();
  cpSync(sound, folder, { recursive: true });
  const [log] = filesOf(folder, '.log');
  renameSync(log, `${log}.aside`);
  writeFileSync(
    log,
    readFileSync(`${log}.aside`).map((byte, i) => (i === 9000 ? byte ^ 4 : byte)),
  );
  for (let attempt = 0; attempt < 3; attempt++) expect(await verdictOf(folder)).toMatchObject({ told: 'open' });
  renameSync(`${log}.aside`, log);
  expect(await verdictOf(folder)).toBe('harmless');
});

test('half a record at the end of the log, as a crash leaves it, is no damage', async () => {
  for (let round = 0; round < 10; round++) {
    const { verdict } = await harmed('.log', (path) => {
      const bytes = readFileSync(path);
      // The head of a record that says it is longer than what follows: checksum, length, type.
      const torn = Buffer.alloc(7 + 1 + Math.floor(random() * 100), 0x41);
      torn.writeUInt16LE(5000, 4);
      torn[6] = 1;
      writeFileSync(path, Buffer.concat([bytes, torn]));
    });
    expect(verdict).toBe('harmless');
  }
});

test('a log that ends where a synced write ended is accepted only without the watermark', async () => {
  const { verdict, folder } = await harmed('.log', (path) => truncateSync(path, 0));
  expect(verdict).toMatchObject({ told: 'open' });
  rmSync(join(folder, 'SYNCED'));
  const store = await RocksKeyValueStore.open(folder);
  let entries = 0;
  for await (const page of store.scan(everything)) entries += page.length;
  await store.close();
  expect(entries).toBe(ENTRIES / 2);
});

test.each([2, 3, 10])(
  'tables that are cut to a part of %i while they are open: what reads ahead is told that they are damaged, and the process goes on',
  (part) => {
    const folder = newFolder();
    cpSync(sound, folder, { recursive: true });
    const program = `
    require(${JSON.stringify(resolve(__dirname, '../support/swc-register.js'))});
    const { RocksKeyValueStore } = require(${JSON.stringify(resolve(__dirname, '../../node/engine/kv/rocks-key-value-store.ts'))});
    const { statSync, truncateSync } = require('node:fs');
    const told = (work) => work.then(() => 'nothing', (error) => error.kind);
    const scan = async (store) => { for await (const page of store.scan({ from: Buffer.from('key-'), to: Buffer.from('key.') })) void page; };
    (async () => {
      const store = await RocksKeyValueStore.open(${JSON.stringify(folder)});
      for (const table of ${JSON.stringify(filesOf(folder, '.sst'))}) truncateSync(table, Math.floor(statSync(table).size / ${part}));
      process.stdout.write(await told(scan(store)) + ' ' + await told(store.verify({ bytesPerSecond: Infinity, stop: new AbortController().signal })));
      await store.close();
    })();`;
    const { signal, stdout } = spawnSync(process.execPath, ['-e', program], {
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
    });
    expect({ signal, stdout }).toEqual({ signal: null, stdout: 'storage_damaged storage_damaged' });
  },
);
