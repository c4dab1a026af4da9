import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReplicatedShard } from '../../../../../node/hosting/replicas/replicated-shard';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { RocksKeyValueStore } from '../../../../../node/engine/kv/rocks-key-value-store';
import { itemKey } from '../../../../../node/engine/records/record-keys';
import type { ReplicaDependencies } from '../../../../../node/replication/replica';
import { chunksOf } from '../../../../../node/replication/shard-copy';
import { WriteBudget } from '../../../../../node/engine/shard/writing/write-queue';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import { assignmentOf, replicaOn } from '../../../../support/cluster/assignment';
import { plainFactories } from '../../../../support/shards/shard-node';

/** Copies of a replica under way, while it is closed. */

const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'ip' } as const;
/** As many chunks of a copy, at least. */
const CHUNKS = 6;

let folder: string;
let failures: Error[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-replicated-'));
  failures = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function openReplica(): Promise<ReplicatedShard> {
  return ReplicatedShard.open({
    folder: join(folder, 'shards', 'c', '0'),
    spec: SPEC,
    assignment: assignmentOf({ spec: SPEC, primary: replicaOn('b'), inSync: [replicaOn('b')], replicas: ['a', 'b'] }),
    self: replicaOn('a'),
    mayBeNew: true,
    changeIdPrefix: '',
    shardOptions: {
      factories: plainFactories,
      openStore: (path) => RocksKeyValueStore.open(path),
      recallTarget: 0.99,
      buildThreads: 1,
      logger: silentLogger,
    },
    budget: new WriteBudget(),
    clock: systemClock,
    log: silentLogger,
    dependencies: () => ({ onFailed: (error: Error) => failures.push(error) }) as unknown as ReplicaDependencies,
  });
}

/** Items of which each fills a chunk. */
const largeItems = Array.from({ length: CHUNKS }, (_, i) => ({
  type: 'put' as const,
  key: itemKey(i + 1),
  value: Buffer.alloc(1 << 20, i),
}));

test.each(['closed', 'dropped'] as const)(
  'a copy that a replica sends is of no use as soon as it is being %s, so that its store need not wait for the end',
  async (reason) => {
    const replica = await openReplica();
    const copy = replica.beginCopy();
    await copy.store.write(largeItems, { sync: false });
    const chunks = chunksOf(copy.store, copy.besides)[Symbol.asyncIterator]();
    await chunks.next();
    expect(copy.pin.isOutrun()).toBe(false);
    const closed = replica.close(reason);
    expect(copy.pin.isOutrun()).toBe(true);
    // Nor is one that begins now.
    expect(replica.beginCopy().pin.isOutrun()).toBe(true);
    await chunks.return!();
    await closed;
  },
);

test('a replica that is dropped while it takes a copy takes no more than the next chunk of it', async () => {
  const source = new MemoryKeyValueStore();
  await source.write(largeItems);
  const replica = await openReplica();
  let handed = 0;
  let atGate!: () => void;
  let openGate!: () => void;
  const reached = new Promise<void>((done) => (atGate = done));
  const gate = new Promise<void>((done) => (openGate = done));
  const sent = async function* (): AsyncIterable<Buffer> {
    for await (const chunk of chunksOf(source)) {
      handed += 1;
      if (handed === 2) {
        atGate();
        await gate;
      }
      yield chunk;
    }
  };
  const installed = replica.install(1, sent()).catch((error: unknown) => error);
  await reached;
  const closed = replica.close('dropped');
  openGate();
  await closed;
  expect(handed).toBe(2);
  expect(await installed).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('closed') });
  expect(failures).toEqual([]);
});
