import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pace } from '../../shared/base/time/pace';
import { digestOf } from '../../node/replication/replica-digest';
import { StoredReplica, writeEntry } from '../support/shards/stored-replica';

/** Digests of a replica as it is after exactly one entry of its log, on RocksDB. */

const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'l2' } as const;
const ENTRIES = 60;
const HOW = { withinMs: 10_000, pace: new Pace(1e9), stop: new AbortController().signal };
const log = Array.from({ length: ENTRIES }, (_, i) =>
  writeEntry({ epoch: 1, sequence: i + 1 }, [
    {
      type: 'upsert',
      externalId: `id${i % 7}`,
      vector: Float32Array.of(i, 1),
      stamp: i + 1,
      metadata: JSON.stringify({ i }),
      text: undefined,
    },
  ]),
);

let root: string;
const opened: StoredReplica[] = [];
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'quiver-digest-at-'))));
afterEach(async () => {
  for (const replica of opened.splice(0)) await replica.close('crashed');
  rmSync(root, { recursive: true, force: true });
});

async function openReplica(name: string): Promise<StoredReplica> {
  const replica = await new StoredReplica(join(root, name), SPEC).open();
  opened.push(replica);
  await replica.storage.append({ entries: log });
  return replica;
}

test('a digest after an entry is that of a replica which went no further, while the log is applied past it', async () => {
  const short = await openReplica('short');
  const long = await openReplica('long');
  const places = [1, 17, 17, 40, ENTRIES];
  const asked = places.map((sequence) => long.storage.digestAt(sequence, HOW));
  const [applied, ...digests] = await Promise.all([long.storage.apply(ENTRIES), ...asked]);
  expect(applied.map(({ sequence }) => sequence)).toEqual(log.map(({ sequence }) => sequence));
  for (const [i, sequence] of places.entries()) {
    await short.storage.apply(sequence);
    expect(digests[i]).toEqual(await digestOf(short.store));
    expect(digests[i]?.appliedSequence).toBe(sequence);
  }
});

test('where nothing is applied, it is that of now', async () => {
  const replica = await openReplica('calm');
  await replica.storage.apply(30);
  expect(await replica.storage.digestAt(30, HOW)).toEqual(await digestOf(replica.store));
});

test('there is none after an entry that was passed, or that does not come', async () => {
  const replica = await openReplica('passed');
  await replica.storage.apply(30);
  expect(await replica.storage.digestAt(29, HOW)).toBeNull();
  expect(await replica.storage.digestAt(31, { ...HOW, withinMs: 60 })).toBeNull();
  // Who gave up does not stop anybody later.
  await replica.storage.apply(ENTRIES);
  expect(replica.storage.state.appliedSequence).toBe(ENTRIES);
});

test('who was told to stop makes none, and one that was begun is given up', async () => {
  const replica = await openReplica('stopped');
  await replica.storage.apply(30);
  const stop = new AbortController();
  const asked = replica.storage.digestAt(30, { ...HOW, stop: stop.signal });
  await Promise.resolve();
  stop.abort();
  expect(await asked.catch((error: { kind: string }) => error.kind)).toBe('unavailable');
  expect(await replica.storage.digestAt(30, { ...HOW, stop: stop.signal })).toBeNull();
});

test('a replica that closes does not wait for a digest that has long to go', async () => {
  const replica = await openReplica('closed');
  await replica.storage.apply(30);
  // At a byte a second it takes longer than any test.
  const asked = replica.storage.digestAt(30, { ...HOW, pace: new Pace(1) });
  const outcome = asked.catch((error: { kind: string }) => error.kind);
  // The view is taken once more can be applied.
  await replica.storage.apply(31);
  await opened.splice(opened.indexOf(replica), 1)[0].close('crashed');
  expect(await outcome).toBe('unavailable');
});
