import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';
import type { LogEntry } from '../../node/replication/core/replica-state';
import { chunksOf, installCopy } from '../../node/replication/shard-copy';
import { operationsToBytes, stampMoment } from '../../shared/contract/writes/operation-codec';
import { earlierOperations } from '../support/shards/earlier-operations';
import { StoredReplica } from '../support/shards/stored-replica';

/** What a replica knows after a start of its log: its times, and how much it holds. */

const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'cosine' } as const;

let root: string;
const opened: StoredReplica[] = [];

beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'quiver-log-times-'))));
afterEach(async () => {
  for (const replica of opened.splice(0)) await replica.close('crashed');
  rmSync(root, { recursive: true, force: true });
});

async function open(name: string): Promise<StoredReplica> {
  const replica = await new StoredReplica(join(root, name), SPEC).open();
  opened.push(replica);
  return replica;
}

async function reopened(replica: StoredReplica, how: 'stopped' | 'crashed'): Promise<StoredReplica> {
  await replica.close(how);
  opened.splice(opened.indexOf(replica), 1);
  const again = await new StoredReplica(replica.folder, SPEC).open();
  opened.push(again);
  return again;
}

function entry(sequence: number, at: number, moment: number, text = ''): LogEntry {
  const payload = operationsToBytes([
    {
      type: 'upsert',
      externalId: `id${sequence}`,
      vector: Float32Array.of(1, sequence),
      stamp: sequence,
      metadata: '{}',
      text,
    },
  ]);
  stampMoment(payload, moment);
  return {
    epoch: 1,
    sequence,
    write: { source: { session: 's', requestNumber: sequence, settledBelow: 0 }, payload, at },
  };
}

const barrier = (sequence: number): LogEntry => ({ epoch: 2, sequence, write: null });
const timesOf = ({ storage: { state } }: StoredReplica): unknown => [state.latestTimeMs, state.latestMoment];

test.each(['stopped', 'crashed'] as const)(
  'a replica that was %s knows the latest time of its log, also of entries that are not there any more',
  async (how) => {
    let replica = await open('one');
    expect(timesOf(replica)).toEqual([0, 0]);
    await replica.storage.append({ entries: [entry(1, 500, 400), entry(2, 700, 650), barrier(3)] });
    expect(timesOf(replica)).toEqual([700, 650]);
    await replica.storage.apply(3);
    replica = await reopened(replica, how);
    expect(timesOf(replica)).toEqual([700, 650]);
    await replica.storage.trim(4);
    replica = await reopened(replica, how);
    expect(replica.storage.state).toMatchObject({
      firstSequence: 4,
      lastSequence: 3,
      latestTimeMs: 700,
      latestMoment: 650,
    });
    await replica.storage.append({ entries: [barrier(4)] });
    replica = await reopened(replica, how);
    expect(timesOf(replica)).toEqual([700, 650]);
  },
);

test('writes without a time or a moment, of members that knew none, do not hide those before them', async () => {
  let replica = await open('one');
  const plain = (sequence: number): LogEntry => ({
    epoch: 1,
    sequence,
    write: {
      source: { session: 's', requestNumber: sequence, settledBelow: 0 },
      payload: earlierOperations([{ type: 'delete', externalId: 'none' }], 3),
    },
  });
  const momentary = entry(2, 0, 650);
  delete momentary.write!.at;
  await replica.storage.append({ entries: [entry(1, 700, 0), momentary, plain(3)] });
  await replica.storage.apply(3);
  expect(timesOf(replica)).toEqual([700, 650]);
  replica = await reopened(replica, 'crashed');
  expect(timesOf(replica)).toEqual([700, 650]);
});

test('what had expired for a write stays so after a start, though the clock is behind that of the primary', async () => {
  const wallMs = (): number => 1_000_000;
  const replica = await new StoredReplica(join(root, 'one'), SPEC, { wallMs }).open();
  try {
    const brief = operationsToBytes([
      {
        type: 'upsert',
        externalId: 'brief',
        vector: Float32Array.of(1, 1),
        stamp: 1,
        metadata: '{}',
        text: undefined,
        expiresAt: wallMs() + 3000,
      },
    ]);
    stampMoment(brief, wallMs());
    await replica.storage.append({
      entries: [
        {
          epoch: 1,
          sequence: 1,
          write: { source: { session: 's', requestNumber: 1, settledBelow: 0 }, payload: brief },
        },
      ],
    });
    await replica.storage.apply(1);
    const ids = async (): Promise<string[]> => (await replica.items()).map(({ externalId }) => externalId);
    expect(await ids()).toEqual(['brief']);
    await replica.storage.append({ entries: [entry(2, 0, wallMs() + 5000)] });
    await replica.storage.apply(2);
    expect(await ids()).toEqual(['id2']);
    for (const how of ['crashed', 'stopped'] as const) {
      await replica.close(how);
      await replica.open();
      expect(await ids()).toEqual(['id2']);
    }
  } finally {
    await replica.close();
  }
});

test('a copy knows the latest time of what it has, though its log is empty', async () => {
  const source = await open('source');
  await source.storage.append({ entries: [entry(1, 500, 400), entry(2, 700, 650)] });
  await source.storage.apply(2);
  const position = await installCopy({
    folder: join(root, 'target'),
    openStore: (path) => RocksKeyValueStore.open(path),
    chunks: chunksOf(source.store, () => source.storage.times()),
    promises: { promisedEpoch: 1, lastLedEpoch: 0 },
    mayBegin: () => true,
  });
  expect(position.sequence).toBe(2);
  expect(timesOf(await open('target'))).toEqual([700, 650]);
});

test('the bytes of a log that was there before a start count', async () => {
  let replica = await open('one');
  await replica.storage.append({
    entries: Array.from({ length: 10 }, (_, i) => entry(i + 1, 500, 0, 'x'.repeat(1000))),
  });
  await replica.storage.apply(10);
  const bytes = 3_500;
  const within = replica.storage.newestWithin({ entries: Infinity, bytes });
  expect(within).toBe(8);
  replica = await reopened(replica, 'crashed');
  expect(replica.storage.newestWithin({ entries: Infinity, bytes })).toBe(within);
  await replica.storage.trim(5);
  replica = await reopened(replica, 'stopped');
  expect(replica.storage.newestWithin({ entries: Infinity, bytes })).toBe(within);
  expect(replica.storage.newestWithin({ entries: Infinity, bytes: 100_000 })).toBe(5);
});
