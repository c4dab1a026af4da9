import { NO_REEMBEDDING } from '../../../../support/shards/no-reembedding';
import {
  collectionPath,
  collectionToValue,
  CREATIONS_PATH,
} from '../../../../../coordinator/service/collections/collection-record';
import { OwnedReshard } from '../../../../../coordinator/jobs/reshard/owned-reshard';
import { ReshardPass } from '../../../../../coordinator/jobs/reshard/reshard-pass';
import {
  NOTHING_COPIED,
  reshardFromEntry,
  type ReshardRecord,
  reshardPath,
  reshardToValue,
} from '../../../../../coordinator/service/collections/reshard-record';
import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import type { ShardClient, ShardId, WriteOperation } from '../../../../../shared/contract/shard/shard-client';
import type { ShardStage } from '../../../../../shared/contract/shard/shard-stage';
import { ManualClock } from '../../../../support/manual-clock';

/** One pass of a driver over shards of which only the stages are real. */

const KEY = reshardPath('c');

let store: KeyValueClusterStore;
let clock: ManualClock;
/** By `<uid>/<shard>`. */
let stages: Map<string, ShardStage>;
/** What happens when a stage is given to a shard. */
let staged: (id: ShardId, stage: ShardStage) => void;
/** What happens when an old shard is asked for its changes. */
let looked: () => void;
/** Of each old shard: marks that it has, and what happens when a page of them is read, which has one. */
let lastMark: number;
let markRead: () => void;

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  clock = new ManualClock();
  stages = new Map();
  staged = () => undefined;
  looked = () => undefined;
  lastMark = 0;
  markRead = () => undefined;
});
afterEach(() => store.close());

const shards = {
  make: async () => undefined,
  open: async () => undefined,
  write: async ({ collectionUid, shard }: ShardId, [operation]: WriteOperation[]) => {
    if (operation.type === 'stage') {
      staged({ collectionUid, shard }, operation.stage);
      stages.set(`${collectionUid}/${shard}`, operation.stage);
    }
    return { outcomes: ['updated'], firstVersion: 0, present: [] };
  },
  read: async ({ collectionUid, shard }: ShardId, kind: string, request: { after: number }) => {
    if (kind === 'marks') {
      markRead();
      const sequence = request.after + 1;
      return sequence > lastMark
        ? []
        : [
            {
              token: sequence.toString(16).padStart(32, '0'),
              digest: 'd'.repeat(32),
              expiresAtMs: 0,
              sequence,
              entries: [],
              verdict: null,
              progress: null,
              earlier: [],
            },
          ];
    }
    if (collectionUid === 'c') looked();
    const stage = stages.get(`${collectionUid}/${shard}`) ?? (collectionUid === 'new' ? 'filling' : 'open');
    return {
      stage,
      reshard: 'new',
      since: 1,
      lastChange: 0,
      upTo: 0,
      externalIds: [],
      lastMark,
      lastVersion: 0,
      index: null,
      vectorCount: 0,
    };
  },
} as unknown as ShardClient;

/** A reshard of a collection of `count` shards, which is there in this state. */
async function reshard(count: number, change: Partial<ReshardRecord>): Promise<void> {
  const rest = {
    dim: 2,
    metric: 'cosine',
    description: null,
    language: null,
    quantization: 'int8',
    createdAt: '',
    embeddingModel: null,
    state: 'ready',
  } as const;
  const collection = collectionToValue({
    uid: 'c',
    identity: 'c',
    name: 'c',
    shards: count,
    replicas: 1,
    minInSync: 1,
    ...rest,
  });
  const record: ReshardRecord = {
    id: 'new',
    identity: 'c',
    name: 'c',
    from: { uid: 'c', shards: count },
    to: { uid: 'new', shards: 2 },
    earlier: [],
    replicas: 1,
    state: 'filling',
    term: 1,
    startedAt: '',
    error: null,
    sources: Array.from({ length: count }, () => ({ ...NOTHING_COPIED, since: 1, isCopied: true })),
    copied: 0,
    total: 0,
    behind: 0,
    ...change,
  };
  await store.transact(
    [],
    [
      { type: 'put', key: collectionPath('c'), value: collection },
      { type: 'put', key: KEY, value: reshardToValue(record) },
    ],
  );
}

async function recordNow(): Promise<ReshardRecord> {
  return reshardFromEntry((await store.get(KEY))!);
}

/** Drives it once. `waitsFor`: what the attempt before met. */
async function drive(waitsFor?: string): Promise<void> {
  const entry = (await store.get(KEY))!;
  const owned = await OwnedReshard.take(
    { store, leadership: ONLY_DRIVER },
    { record: reshardFromEntry(entry), revision: entry.revision },
    waitsFor,
  );
  const restores = { isRestoring: async () => false, finalNote: async () => ({ guards: [], changes: [] }) };
  await new ReshardPass(owned, {
    store,
    shards,
    clock,
    restores,
    reembedding: NO_REEMBEDDING,
    log: silentLogger,
    stop: new AbortController().signal,
  }).run();
}

test('one old shard that can not be opened again keeps none of the others from it when a reshard is given up', async () => {
  const count = 40;
  await reshard(count, { state: 'cancelling' });
  for (let shard = 0; shard < count; shard += 1) stages.set(`c/${shard}`, 'sealed');
  staged = ({ shard }) => {
    if (shard === 3) throw new QuiverError('storage_failed', 'the disk failed');
  };
  await expect(drive()).rejects.toMatchObject({ kind: 'storage_failed' });
  expect([...stages].filter(([, stage]) => stage !== 'open')).toEqual([['c/3', 'sealed']]);
  expect((await recordNow()).state).toBe('cancelling');

  staged = () => undefined;
  await drive();
  expect(stages.get('c/3')).toBe('open');
  expect(await store.get(KEY)).toBeNull();
});

test('what keeps a reshard from getting on is told with the name of the shard, and is noted until it gets on', async () => {
  await reshard(1, {});
  const away = (): never => {
    clock.advance(60_000);
    throw new QuiverError('unavailable', 'the disk does not answer; the call may be retried');
  };
  staged = ({ collectionUid }) => void (collectionUid === 'new' && away());
  await expect(drive()).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'new shard 0 of collection "c": the disk does not answer; the call may be retried',
  });
  staged = () => undefined;
  // As long as nothing is taken over, it is what was met last.
  looked = away;
  await expect(drive('a disk')).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'shard 0 of collection "c": the disk does not answer; the call may be retried',
  });
  expect((await recordNow()).waitsFor).toBe('a disk');
  looked = () => undefined;
  await drive();
  expect(await recordNow()).toMatchObject({ state: 'retiring' });
  expect((await recordNow()).waitsFor).toBeUndefined();
});

test('one that can not be done says of which shard that is', async () => {
  await reshard(1, {});
  looked = () => {
    throw new QuiverError('storage_failed', 'no room');
  };
  await drive();
  expect(await recordNow()).toMatchObject({ state: 'cancelling', error: 'shard 0 of collection "c": no room' });
});

test('old shards that were sealed by a driver that died are opened again in time, however many marks there are to be taken over', async () => {
  await reshard(1, { state: 'sealing' });
  stages.set('c/0', 'sealed');
  lastMark = 100;
  const startMs = clock.monotonicMs();
  markRead = () => clock.advance(500);
  let openedMs = 0;
  staged = (_, stage) => {
    if (stage === 'tracking') openedMs = clock.monotonicMs() - startMs;
  };
  await expect(drive()).rejects.toMatchObject({ kind: 'unavailable' });
  expect((await recordNow()).state).toBe('filling');
  expect(openedMs).toBe(4_000);
});

describe('after a seal in vain, clients are left alone for ten times as long as they waited', () => {
  const unconfirmed = (): never => {
    throw new QuiverError('commit_unknown', 'an answer that was lost');
  };
  /** Goes on until the old shards are sealed again. Answers how long that took. */
  const untilSealed = async (): Promise<number> => {
    const startMs = clock.monotonicMs();
    let sealedMs: number | null = null;
    looked = () => clock.advance(5_000);
    staged = (_, stage) => {
      if (stage !== 'sealed') return;
      sealedMs ??= clock.monotonicMs() - startMs;
      looked = () => undefined;
    };
    await drive();
    return sealedMs!;
  };

  test('also where one driver sealed them and another one opened them again', async () => {
    await reshard(1, { state: 'sealing' });
    staged = (_, stage) => {
      if (stage === 'closed') clock.advance(3_000);
      if (stage === 'closed' || stage === 'tracking') unconfirmed();
    };
    await expect(drive()).rejects.toMatchObject({ kind: 'commit_unknown' });
    expect(await recordNow()).toMatchObject({ state: 'sealing', unseals: true });
    staged = () => undefined;
    await drive();
    expect((await recordNow()).state).toBe('filling');
    expect(await untilSealed()).toBeGreaterThanOrEqual(30_000);
  });

  test('for two minutes at most, where they waited for longer than twelve seconds', async () => {
    await reshard(1, { state: 'sealing' });
    staged = (_, stage) => {
      if (stage === 'closed') clock.advance(20_000);
      if (stage === 'closed') unconfirmed();
    };
    await expect(drive()).rejects.toMatchObject({ kind: 'commit_unknown' });
    expect((await recordNow()).state).toBe('filling');
    expect(await untilSealed()).toBeGreaterThanOrEqual(120_000);
  });
});

test('whoever counted the shards meanwhile counts again once a collection has its new ones', async () => {
  await reshard(1, { state: 'opening' });
  expect(await store.get(CREATIONS_PATH)).toBeNull();
  await drive();
  expect((await recordNow()).state).toBe('retiring');
  expect(await store.get(CREATIONS_PATH)).toMatchObject({
    value: 'new',
    revision: (await store.get(collectionPath('c')))!.revision,
  });
});
