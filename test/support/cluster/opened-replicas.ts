import { join } from 'node:path';
import { RocksKeyValueStore } from '../../../node/engine/kv/rocks-key-value-store';
import { StoreNotes } from '../../../node/engine/kv/store-notes';
import { WriteBudget } from '../../../node/engine/shard/writing/write-queue';
import { ReplicaOpening } from '../../../node/hosting/replicas/replica-opening';
import { ReplicatedShard } from '../../../node/hosting/replicas/replicated-shard';
import { ShardStores } from '../../../node/hosting/replicas/shard-stores';
import type { ReplicaDependencies } from '../../../node/replication/replica';
import { silentLogger } from '../../../shared/base/logs/logger';
import { systemClock } from '../../../shared/base/time/clock';
import type { ShardAssignment } from '../../../shared/cluster-store/entries/shard-assignment';
import type { UpsertOperation } from '../../../shared/contract/shard/shard-client';
import { operationsToBytes, stampMoment } from '../../../shared/contract/writes/operation-codec';
import { earlierOperations } from '../shards/earlier-operations';
import { plainFactories } from '../shards/shard-node';
import { assignmentOf } from './assignment';

export const SPEC = { collectionUid: 'c', shard: 0, dim: 2, metric: 'ip' } as const;
export const replicaOn = (node: string) => ({ node, store: `store of ${node}` });

/** A node's openings over its data folder, as after a start. */
export async function started(
  folder: string,
  changeAssignment: ReplicaDependencies['changeAssignment'] = () => new Promise(() => undefined),
): Promise<{
  opening: ReplicaOpening;
  stores: ShardStores;
  open: (assignment: ShardAssignment) => Promise<ReplicatedShard>;
}> {
  const stores = await ShardStores.load(folder, 'store of a');
  const opening = new ReplicaOpening({
    nodeId: 'a',
    stores,
    notes: await StoreNotes.load(join(folder, 'notes'), silentLogger, { mayBeReplaced: true }),
    onRenewed: () => undefined,
    log: silentLogger,
    open: (spec, assignment, store, mayBeNew) =>
      ReplicatedShard.open({
        folder: stores.pathOf(spec),
        spec,
        assignment,
        self: { node: 'a', store },
        mayBeNew,
        changeIdPrefix: store,
        shardOptions: {
          factories: plainFactories,
          openStore: (path, how) => RocksKeyValueStore.open(path, undefined, how),
          recallTarget: 0.99,
          buildThreads: 1,
          logger: silentLogger,
        },
        budget: new WriteBudget(),
        clock: systemClock,
        log: silentLogger,
        dependencies: () => ({ changeAssignment, onFailed: () => undefined }) as unknown as ReplicaDependencies,
      }),
  });
  const open = async (assignment: ShardAssignment): Promise<ReplicatedShard> => {
    const opened = await opening.open(SPEC, assignment);
    opened.replica.assigned(assignment, 10);
    return opened;
  };
  return { opening, stores, open };
}

export function ledBy(node: string, others: string[]): ShardAssignment {
  return assignmentOf({ spec: SPEC, inSync: [node, ...others].map(replicaOn) });
}

export async function write(leader: ReplicatedShard, epoch = 1, expiresAt?: number, requestNumber = 1): Promise<void> {
  const call = { epoch, deadlineMs: Infinity };
  const timed = expiresAt !== undefined;
  const operations: UpsertOperation[] = [
    {
      type: 'upsert',
      externalId: 'x',
      vector: Float32Array.of(1, 0),
      stamp: 1,
      metadata: undefined,
      text: undefined,
      expiresAt,
    },
  ];
  const payload = timed ? operationsToBytes(operations) : earlierOperations(operations, 1);
  if (timed) stampMoment(payload, systemClock.wallMs());
  await leader.replica.write({ source: { session: 's', requestNumber, settledBelow: 0 }, payload }, call);
}

/** Leads the shard alone, and has an item written. */
export async function leadAndWrite(folder: string, assignment: ShardAssignment): Promise<void> {
  const { opening, open } = await started(folder);
  const leader = await open(assignment);
  await write(leader, assignment.epoch, undefined, assignment.epoch);
  await leader.close('closed');
  await opening.noteClosed([leader.shard]);
}
