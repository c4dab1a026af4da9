import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logKey } from '../../node/replication/log/log-keys';
import { StoredReplica, writeEntry } from '../support/shards/stored-replica';

/** What a disk may do to a replica's log while the node is down, and how the next start tells. */

const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' } as const;

let folder: string;
let replica: StoredReplica;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-replica-'));
  replica = await new StoredReplica(folder, SPEC).open();
});
afterEach(async () => {
  await replica.close('crashed');
  rmSync(folder, { recursive: true, force: true });
});

function entry(sequence: number, epoch = 1) {
  return writeEntry({ epoch, sequence }, [
    {
      type: 'upsert',
      externalId: `id${sequence}`,
      vector: Float32Array.of(sequence, 1),
      stamp: sequence,
      metadata: undefined,
      text: undefined,
    },
  ]);
}

async function append(from: number, to: number): Promise<void> {
  for (let sequence = from; sequence <= to; sequence++) await replica.storage.append({ entries: [entry(sequence)] });
}

async function reopenAfter(damage: () => void | Promise<void>): Promise<string | undefined> {
  await replica.close('crashed');
  // The store's own mark would tell of most of it first (test/fault/store-damage); here it is as if that were lost,
  // too.
  rmSync(join(folder, 'records', 'SYNCED'));
  await damage();
  await replica.open();
  return replica.storage.state.lossy;
}

/** The write-ahead log that RocksDB wrote last. */
function newestLog(): string {
  const logs = readdirSync(join(folder, 'records')).filter((name) => name.endsWith('.log'));
  return join(folder, 'records', logs.sort()[logs.length - 1]);
}

/** As if the store had lost a key, or had it changed. */
async function tamper(sequence: number, change: (bytes: Buffer) => Buffer | null): Promise<void> {
  await replica.open();
  const key = logKey(sequence, 1);
  const value = change((await replica.store.get(key)) as Buffer);
  await replica.store.write([value === null ? { type: 'delete', key } : { type: 'put', key, value }], { sync: true });
  await replica.close('crashed');
}

async function expectRefusals(): Promise<void> {
  const next = replica.storage.state.lastSequence + 1;
  await expect(replica.storage.append({ entries: [entry(next)] })).rejects.toMatchObject({ kind: 'storage_failed' });
  await expect(replica.storage.apply(next - 1)).rejects.toMatchObject({ kind: 'storage_failed' });
}

test('a sound store loses nothing', async () => {
  await append(1, 20);
  await replica.storage.apply(12);
  expect(await reopenAfter(() => undefined)).toBeUndefined();
  expect(replica.storage.state).toMatchObject({ lastSequence: 20, appliedSequence: 12 });
});

test('a write-ahead log that is gone is missed, at every later start too', async () => {
  await append(1, 10);
  await reopenAfter(() => undefined);
  await append(11, 20);
  expect(await reopenAfter(() => rmSync(newestLog()))).toBe('the log ends at 10 and once ended at 20');
  await expectRefusals();
  expect(await reopenAfter(() => undefined)).toBe('the log ends at 10 and once ended at 20');
});

test('a write-ahead log that is damaged in its middle, or cut off, is missed', async () => {
  await append(1, 20);
  const cut = await reopenAfter(() => truncateSync(newestLog(), Math.floor(statSync(newestLog()).size * 0.6)));
  expect(cut).toMatch(/^the log ends at \d+ and once ended at 20$/);
});

test('bytes that change in the write-ahead log are missed', async () => {
  await append(1, 20);
  const lossy = await reopenAfter(() => {
    const bytes = readFileSync(newestLog());
    bytes[Math.floor(bytes.length / 2)] ^= 0xff;
    writeFileSync(newestLog(), bytes);
  });
  expect(lossy).toMatch(/^the log ends at \d+ and once ended at 20$/);
});

test('a lost promise is missed', async () => {
  await replica.storage.append({ promisedEpoch: 3 });
  await reopenAfter(() => undefined);
  await replica.storage.append({ promisedEpoch: 5, lastLedEpoch: 5 });
  expect(await reopenAfter(() => rmSync(newestLog()))).toBe('the promise of epoch 5 is gone');
});

test('an entry that is missing among others is missed', async () => {
  await append(1, 9);
  await replica.storage.apply(7);
  expect(await reopenAfter(() => tamper(4, () => null))).toBe('the log goes on at 5 after 3');
  await expectRefusals();
});

test('a damaged entry is found before it is applied', async () => {
  await append(1, 9);
  await replica.storage.apply(4);
  const flipped = (bytes: Buffer): Buffer => {
    bytes[bytes.length - 3] ^= 1;
    return bytes;
  };
  expect(await reopenAfter(() => tamper(6, flipped))).toBe('entry 6 of the log is damaged');
  await expectRefusals();
});

test('a damaged entry that is applied already is not sent to others', async () => {
  await append(1, 9);
  await replica.storage.apply(9);
  expect(await reopenAfter(() => tamper(6, (bytes) => bytes.subarray(0, bytes.length - 1)))).toBeUndefined();
  await expect(replica.storage.read(5, 1)).resolves.toMatchObject([{ sequence: 5 }]);
  await expect(replica.storage.read(6, 1)).rejects.toMatchObject({ kind: 'storage_failed' });
});

test('an entry taken back is not missed, nor one that replaces it', async () => {
  await append(1, 9);
  await replica.storage.append({ truncateAfter: 5 });
  expect(await reopenAfter(() => undefined)).toBeUndefined();
  await replica.storage.append({ truncateAfter: 3, entries: [entry(4, 2)] });
  expect(await reopenAfter(() => undefined)).toBeUndefined();
  expect(replica.storage.state).toMatchObject({
    lastSequence: 4,
    epochStarts: [
      { epoch: 1, sequence: 1 },
      { epoch: 2, sequence: 4 },
    ],
  });
});

test('an older entry under the number of a lost one is not taken for it', async () => {
  await append(1, 5);
  await reopenAfter(() => undefined);
  await replica.storage.append({ truncateAfter: 3, entries: [entry(4, 2), entry(5, 2)] });
  expect(await reopenAfter(() => rmSync(newestLog()))).toBe('entry 5 of the log is not the one of epoch 2 that it had');
});

test('a mark that is torn counts as the one before it', async () => {
  await append(1, 4);
  const path = join(folder, 'log-mark');
  const lossy = await reopenAfter(() => {
    const bytes = readFileSync(path);
    // The slot of the latest write: the fourth.
    bytes.fill(0xee, 20, 40);
    writeFileSync(path, bytes);
  });
  expect(lossy).toBeUndefined();
  await append(5, 6);
  expect(await reopenAfter(() => rmSync(newestLog()))).toBe('the log ends at 4 and once ended at 6');
});

test('without the mark, which an operator may remove, what is left is taken as it is', async () => {
  await append(1, 10);
  await reopenAfter(() => undefined);
  await append(11, 20);
  await reopenAfter(() => rmSync(newestLog()));
  expect(await reopenAfter(() => rmSync(join(folder, 'log-mark')))).toBeUndefined();
  expect(replica.storage.state.lastSequence).toBe(10);
  await append(11, 12);
  expect(await reopenAfter(() => undefined)).toBeUndefined();
});
