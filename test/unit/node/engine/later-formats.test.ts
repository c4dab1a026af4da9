import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { prepareDataFolder } from '../../../../node/engine/data-folder';
import { MemoryKeyValueStore } from '../../../support/models/memory-key-value-store';
import { recordToBytes } from '../../../../node/engine/records/record-codec';
import { itemKey, SPEC_KEY } from '../../../../node/engine/records/record-keys';
import { RecordStore } from '../../../../node/engine/records/record-store';
import { logEntryFromBytes, logEntryToBytes } from '../../../../node/replication/log/log-entry-codec';
import { logKey } from '../../../../node/replication/log/log-keys';
import { LogWatermark } from '../../../../node/replication/log/log-watermark';
import { surveyLog } from '../../../../node/replication/log/log-survey';
import { chunksOf, installCopy } from '../../../../node/replication/shard-copy';
import { claimRecords, specText } from '../../../../node/engine/records/shard-format';
import { LaterFormatError } from '../../../../node/engine/files/later-format';
import { writeEntry } from '../../../support/shards/stored-replica';
import { OPERATIONS_VERSION } from '../../../../shared/contract/writes/operation-format';

/** What a later version may have written: this one refuses it, says what it is, and changes nothing. */

const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' } as const;
const LATER_SPEC = specText(SPEC).replace('"format":1', '"format":5');
const AT = { sequence: 1, epoch: 1 };
let folder: string;

beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quiver-later-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Every file with its content. */
function contentOf(path: string): Record<string, string> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(files.map((file) => [file.name, readFileSync(join(file.parentPath, file.name), 'latin1')]));
}

async function refused(act: () => unknown): Promise<string> {
  const error = await Promise.resolve()
    .then(act)
    .then(
      () => null,
      (reason: unknown) => reason,
    );
  expect(error).toBeInstanceOf(LaterFormatError);
  return (error as Error).message;
}

/** A stored entry of the log with its bytes changed, and the checksum for it. */
function entryWith(change: (bytes: Buffer) => void): Buffer {
  const bytes = logEntryToBytes(writeEntry(AT, [{ type: 'delete', externalId: 'a' }]));
  change(bytes);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

test('a data folder', async () => {
  writeFileSync(join(folder, 'format.json'), '{"format":2,"layout":"another"}\n');
  mkdirSync(join(folder, 'node'));
  writeFileSync(join(folder, 'node', 'store.json'), 'anything');
  const before = contentOf(folder);
  expect(await refused(() => prepareDataFolder(folder, { warn: () => undefined }))).toBe(
    `${folder}/format.json was written by a later version: it has format 2, and this program knows formats up to 1; nothing was changed, a later version of the program reads it`,
  );
  expect(contentOf(folder)).toEqual(before);
});

test('a data folder says of which format it is; one from before it did is taken, and a damaged word is not guessed', () => {
  const quiet = { warn: () => undefined };
  mkdirSync(join(folder, 'node'));
  prepareDataFolder(folder, quiet);
  expect(readFileSync(join(folder, 'format.json'), 'utf8')).toBe('{"format":1}\n');
  prepareDataFolder(folder, quiet);
  writeFileSync(join(folder, 'format.json'), '');
  expect(() => prepareDataFolder(folder, quiet)).toThrow(
    expect.objectContaining({ kind: 'storage_failed', message: expect.stringContaining('format.json is damaged') }),
  );
});

test('a shard', async () => {
  const store = new MemoryKeyValueStore();
  await store.write([{ type: 'put', key: SPEC_KEY, value: Buffer.from(LATER_SPEC) }]);
  expect(await refused(() => claimRecords(new RecordStore(store), folder, SPEC))).toContain(
    'the folder of shard 0 of collection c was written by a later version: it has format 5, and this program knows formats up to 4',
  );
  expect((await store.get(SPEC_KEY))?.toString()).toBe(LATER_SPEC);
});

test.each([0, 4, 200])(
  'a record of format %i in a shard of this version is damage: a later version would have changed the specification first',
  async (format) => {
    const store = new MemoryKeyValueStore();
    const records = new RecordStore(store);
    await claimRecords(records, folder, SPEC);
    const bytes = recordToBytes({
      externalId: 'a',
      slot: 0,
      stamp: 1,
      version: 0,
      metadata: '{}',
      text: null,
      vector: Float32Array.of(1, 2),
    });
    await store.write([{ type: 'put', key: itemKey(1), value: bytes }]);
    await expect(records.readItems([1])).resolves.toMatchObject([{ externalId: 'a' }]);
    bytes[0] = format;
    await store.write([{ type: 'put', key: itemKey(1), value: bytes }]);
    await expect(records.readItems([1])).rejects.toMatchObject({ kind: 'storage_damaged' });
  },
);

test.each([
  [
    'of another kind',
    (bytes: Buffer) => (bytes[4] = 3),
    'entry 1 of the log was written by a later version: it has format 3',
  ],
  [
    'with operations of a later version',
    (bytes: Buffer) => bytes.writeUInt32LE(OPERATIONS_VERSION + 1, 24),
    `the write of entry 1 of the log was written by a later version: it has format ${OPERATIONS_VERSION + 1}`,
  ],
])('an entry of the log %s, which does not make the store one that lost something', async (_, change, expected) => {
  const value = entryWith(change);
  expect(await refused(() => logEntryFromBytes(value, AT))).toContain(expected);
  const store = new MemoryKeyValueStore();
  await store.write([{ type: 'put', key: logKey(AT.sequence, AT.epoch), value }]);
  expect(await refused(() => surveyLog(store, null))).toContain(expected);
});

test('the high-water mark of a log', async () => {
  const path = join(folder, 'log-mark');
  const mark = await LogWatermark.open(path);
  await mark.write({ sequence: 3, epoch: 1, promisedEpoch: 1, lastLedEpoch: 0 });
  await mark.close();
  const again = await LogWatermark.open(path);
  expect(again.state?.sequence).toBe(3);
  await again.close();
  const bytes = readFileSync(path);
  const later = bytes.subarray(4096, 4096 + 48);
  later.writeUInt32LE(1, 44);
  later.writeUInt32LE(crc32(later.subarray(4)), 0);
  writeFileSync(path, bytes);
  expect(await refused(() => LogWatermark.open(path))).toContain(
    'the high-water mark of a log (log-mark) was written by a later version: it has format 1, and this program knows formats up to 0',
  );
  expect(readFileSync(path)).toEqual(bytes);
});

test('a torn slot of a high-water mark is none, whatever stands at its end', async () => {
  const path = join(folder, 'log-mark');
  const mark = await LogWatermark.open(path);
  const state = { sequence: 3, epoch: 1, promisedEpoch: 1, lastLedEpoch: 0 };
  await mark.write(state);
  await mark.write({ ...state, sequence: 4 });
  await mark.close();
  const bytes = readFileSync(path);
  // The second write is in the first block.
  bytes.fill(7, 40, 512);
  writeFileSync(path, bytes);
  const again = await LogWatermark.open(path);
  expect(again.state).toEqual(state);
  await again.close();
});

test('a copy of a shard: what is there stays', async () => {
  const sent = new MemoryKeyValueStore();
  await sent.write([{ type: 'put', key: SPEC_KEY, value: Buffer.from(LATER_SPEC) }]);
  const shard = join(folder, '0');
  mkdirSync(shard);
  writeFileSync(join(shard, 'kept'), 'what is there');
  const install = () =>
    installCopy({
      folder: shard,
      openStore: async () => new MemoryKeyValueStore(),
      chunks: chunksOf(sent),
      promises: { promisedEpoch: 1, lastLedEpoch: 0 },
      mayBegin: () => true,
    });
  expect(await refused(install)).toContain('a copy of a shard was written by a later version: it has format 5');
  expect(contentOf(shard)).toEqual({ kept: 'what is there' });
});
