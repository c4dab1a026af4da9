import { JobDriver } from '../../../../../coordinator/jobs/driving/job-driver';
import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { JobRecord } from '../../../../../coordinator/jobs/record/job-record';
import { StoredJobs } from '../../../../../coordinator/jobs/record/stored-jobs';
import { OPTIMIZE, OptimizeKind } from '../../../../../coordinator/jobs/upkeep/optimize-kind';
import { PURGE, PurgeKind } from '../../../../../coordinator/jobs/upkeep/purge-kind';
import { UpkeepRequests } from '../../../../../coordinator/jobs/upkeep/upkeep-requests';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import {
  reshardJobId,
  reshardPath,
  type ReshardRecord,
  type ReshardState,
  reshardToValue,
} from '../../../../../coordinator/service/collections/reshard-record';
import type { ShardUpkeep } from '../../../../../coordinator/service/collections/shard-upkeep';
import { collectionNotFound } from '../../../../../coordinator/service/routing/collection-not-found';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { type Logger, silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import type { ReplicaPurge } from '../../../../../shared/contract/shard/shard-purge';
import type { ShardStatus } from '../../../../../shared/contract/shard/shard-read';
import { eventually } from '../../../../support/eventually';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';

/** Purges and optimizations as jobs, over two shards of two replicas each. */

const NODES = ['a', 'b'];
const SHARDS = 2;
const CHECK_MS = 2;
const RESHARD: ReshardRecord = {
  id: 'shards-2',
  identity: 'c-1',
  name: 'c',
  from: { uid: 'shards-1', shards: SHARDS },
  to: { uid: 'shards-2', shards: SHARDS },
  earlier: [],
  replicas: NODES.length,
  state: 'filling',
  term: 1,
  startedAt: '2026-01-01T00:00:00.000Z',
  error: null,
  sources: [],
  copied: 0,
  total: 0,
  behind: 0,
};

/** Replicas that forget what they do when their node stops, as real ones do. */
class Replicas implements Pick<ShardUpkeep, 'find' | 'purge' | 'optimize' | 'statuses'> {
  uid = 'shards-1';
  identity: string | null = 'c-1';
  isAway: string | null = null;
  /** By shard, how often each was told to begin. */
  begun = Array.from({ length: SHARDS }, () => 0);
  optimizations = 0;
  isOptimizing = false;
  deletedRows = 0;
  private purges = new Map<string, ReplicaPurge>();

  set(shard: number, node: string, state: ReplicaPurge['state'], error = ''): void {
    const bytes = { bytesBefore: 100, bytesAfter: state === 'done' ? 60 : 0 };
    this.purges.set(`${shard}/${node}`, { node, state, step: state === 'running' ? 'vectors' : '', ...bytes, error });
  }

  setAll(state: ReplicaPurge['state']): void {
    for (let shard = 0; shard < SHARDS; shard += 1) for (const node of NODES) this.set(shard, node, state);
  }

  async find(name: string, identity?: string): Promise<CollectionRecord> {
    if (this.identity === null || (identity ?? this.identity) !== this.identity) throw collectionNotFound(name);
    return { name, identity: this.identity, uid: this.uid } as CollectionRecord;
  }

  async purge(_: CollectionRecord, starts: (uid: string, shard: number) => boolean) {
    const { uid } = this;
    return {
      uid,
      shards: Array.from({ length: SHARDS }, (_none, shard) => {
        const isStart = starts(uid, shard);
        if (isStart) this.begun[shard] += 1;
        return NODES.map((node) => this.answerOf(shard, node, isStart));
      }),
    };
  }

  async optimize(): Promise<void> {
    this.optimizations += 1;
    this.isOptimizing = this.deletedRows > 0;
  }

  async statuses(): Promise<ShardStatus[]> {
    const index = { state: 'ready', rows: 10, indexedRows: 10, refinedRows: 10, secondsLeft: 0 } as const;
    const { isOptimizing: optimizing, deletedRows } = this;
    return [{ index: { ...index, optimizing }, segments: [{ deletedRows }] } as ShardStatus];
  }

  private answerOf(shard: number, node: string, isStart: boolean): ReplicaPurge {
    const nothing = { node, step: '', bytesBefore: 0, bytesAfter: 0, error: '' };
    if (this.isAway === node) return { ...nothing, state: 'unknown' };
    if (isStart) this.set(shard, node, 'running');
    return this.purges.get(`${shard}/${node}`) ?? { ...nothing, state: 'none' };
  }
}

let store: ClusterStore;
let replicas: Replicas;
let log: Logger & { warn: jest.Mock; error: jest.Mock };
let jobs: StoredJobs;
let requests: UpkeepRequests;
let drivers: JobDriver<JobRecord>[];

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  replicas = new Replicas();
  log = { ...(silentLogger as Logger), warn: jest.fn(), error: jest.fn() };
  drivers = [];
  jobs = storedJobs();
  const upkeep = replicas as unknown as ShardUpkeep;
  requests = new UpkeepRequests({ upkeep, jobs });
});
afterEach(async () => {
  for (const driver of drivers) await driver.close();
  await store.close();
});

function storedJobs(): StoredJobs {
  const upkeep = replicas as unknown as ShardUpkeep;
  const kinds = [new PurgeKind({ upkeep, store, lookMs: CHECK_MS }), new OptimizeKind({ upkeep, lookMs: CHECK_MS })];
  const leadership = (): typeof ONLY_DRIVER => ONLY_DRIVER;
  return new StoredJobs({ store, leadership, clock: systemClock, log, kinds, rightsOf: {}, reportEveryMs: 0 });
}

async function drive(of: StoredJobs = jobs): Promise<JobDriver<JobRecord>> {
  const driver = new JobDriver(of, { leadership: ONLY_DRIVER, clock: systemClock, log });
  await driver.start();
  drivers.push(driver);
  return driver;
}

const only = async (kind: string) => {
  const found = (await jobs.list()).filter((job) => job.kind === kind);
  expect(found).toHaveLength(1);
  return found[0];
};
const reaches = (kind: string, wanted: object): Promise<void> =>
  eventually(`the job is ${JSON.stringify(wanted)}`, async () => {
    const job = await only(kind);
    return Object.entries(wanted).every(([key, value]) => Object.is(job[key as keyof typeof job], value));
  });
const purgeState = async (): Promise<string> => (await requests.purge('c', false)).state;

test('a purge begins at once, is done when each replica is, and its answer outlives what nodes remember', async () => {
  await drive();
  expect(await purgeState()).toBe('none');
  const begun = await requests.purge('c', true);
  expect(begun).toMatchObject({ collection: 'c', state: 'running' });
  expect(begun.shards.flat().map(({ state }) => state)).toEqual(Array(4).fill('running'));
  replicas.set(0, 'a', 'done');
  await reaches(PURGE, { state: 'running', done: 1, total: 4 });
  replicas.setAll('done');
  await reaches(PURGE, { state: 'done', progress: 1 });
  expect((await only(PURGE)).result).toEqual({ replicas: 4, bytes_reclaimed: 160 });
  expect(replicas.begun).toEqual([1, 1]);
  replicas.setAll('none');
  const later = await requests.purge('c', false);
  expect(later).toMatchObject({ state: 'done' });
  expect(later.shards[1][0]).toMatchObject({ node: 'a', state: 'done', bytesBefore: 100, bytesAfter: 60 });
});

test('a replica that forgets its purge begins again, and those that are done stay so', async () => {
  await drive();
  await requests.purge('c', true);
  replicas.set(0, 'a', 'done');
  replicas.set(1, 'a', 'done');
  replicas.set(1, 'b', 'done');
  await reaches(PURGE, { done: 3 });
  replicas.set(0, 'b', 'none');
  await eventually('shard 0 begins again', () => replicas.begun[0] === 2);
  expect((await requests.purge('c', false)).shards[0].map(({ state }) => state)).toEqual(['done', 'running']);
  replicas.set(0, 'b', 'done');
  await reaches(PURGE, { state: 'done' });
  expect(replicas.begun).toEqual([2, 1]);
});

test('a node that is away is waited for, and others are not asked again meanwhile', async () => {
  await drive();
  replicas.isAway = 'b';
  await requests.purge('c', true);
  replicas.set(0, 'a', 'done');
  replicas.set(1, 'a', 'done');
  await reaches(PURGE, { state: 'running', done: 2, waitsFor: 'nodes that do not answer: b' });
  expect(await purgeState()).toBe('running');
  expect(replicas.begun).toEqual([1, 1]);
  replicas.isAway = null;
  await eventually('it begins there', () => replicas.begun.every((times) => times === 2));
  replicas.setAll('done');
  await reaches(PURGE, { state: 'done' });
});

test('it is not done while other shards are to take over, which may hold what was deleted, and then purges those', async () => {
  const reshard = async (state: ReshardState | null): Promise<unknown> => {
    const key = reshardPath('c-1');
    const value = reshardToValue({ ...RESHARD, state: state ?? 'filling' });
    return store.transact([], [state === null ? { type: 'delete', key } : { type: 'put', key, value }]);
  };
  await reshard('filling');
  await drive();
  await requests.purge('c', true);
  replicas.setAll('done');
  await reaches(PURGE, {
    state: 'running',
    done: 4,
    waitsFor: `job ${reshardJobId(RESHARD)}, which gives the collection other shards`,
  });
  expect(await purgeState()).toBe('running');
  replicas.uid = 'shards-2';
  replicas.setAll('none');
  await reshard('retiring');
  await eventually('the others begin', () => replicas.begun.every((times) => times === 2));
  replicas.setAll('done');
  await reaches(PURGE, {
    state: 'running',
    done: 4,
    waitsFor: `job ${reshardJobId(RESHARD)}, which gives the collection other shards`,
  });
  await reshard(null);
  await reaches(PURGE, { state: 'done' });
  expect(replicas.begun).toEqual([2, 2]);
});

test('a reshard that failed holds up no purge', async () => {
  const value = reshardToValue({ ...RESHARD, state: 'failed' });
  await store.transact([], [{ type: 'put', key: reshardPath('c-1'), value }]);
  await drive();
  await requests.purge('c', true);
  replicas.setAll('done');
  await reaches(PURGE, { state: 'done' });
});

test('the next driver goes on without asking anybody twice', async () => {
  const first = await drive();
  await requests.purge('c', true);
  replicas.set(0, 'a', 'done');
  await reaches(PURGE, { state: 'running', done: 1 });
  await first.close();
  replicas.setAll('done');
  jobs = storedJobs();
  requests = new UpkeepRequests({ upkeep: replicas as unknown as ShardUpkeep, jobs });
  await drive();
  await reaches(PURGE, { state: 'done' });
  expect(replicas.begun).toEqual([1, 1]);
});

test('one that is asked for again while it is under way purges every replica once more, as one job', async () => {
  await drive();
  await requests.purge('c', true);
  replicas.set(0, 'a', 'done');
  await reaches(PURGE, { state: 'running', done: 1 });
  await requests.purge('c', true);
  await reaches(PURGE, { state: 'running', done: 0 });
  replicas.setAll('done');
  await reaches(PURGE, { state: 'done' });
  expect(replicas.begun).toEqual([2, 2]);
  // After that, it is another one.
  await requests.purge('c', true);
  expect(await jobs.list()).toHaveLength(2);
});

test('other shards, after a reshard, are purged from the beginning', async () => {
  await drive();
  await requests.purge('c', true);
  replicas.set(0, 'a', 'done');
  await reaches(PURGE, { state: 'running', done: 1 });
  replicas.uid = 'shards-2';
  replicas.setAll('none');
  await eventually('they begin', () => replicas.begun.every((times) => times === 2));
  expect(await purgeState()).toBe('running');
  replicas.setAll('done');
  await reaches(PURGE, { state: 'done' });
});

test('a replica that fails for good fails the purge, with its reason', async () => {
  await drive();
  await requests.purge('c', true);
  replicas.setAll('done');
  replicas.set(1, 'b', 'failed', 'a replica is behind');
  await reaches(PURGE, { state: 'failed' });
  expect((await only(PURGE)).error).toBe('not all of it is purged; purge it again (shard 1 on b: a replica is behind)');
  expect(await purgeState()).toBe('failed');
});

test.each([
  [PURGE, 'deleted', null],
  [PURGE, 'made anew', 'c-2'],
  [OPTIMIZE, 'deleted', null],
  [OPTIMIZE, 'made anew', 'c-2'],
])('a %s whose collection is %s ends without an error in the log', async (kind, _, identity) => {
  await drive();
  replicas.deletedRows = 1;
  if (kind === PURGE) await requests.purge('c', true);
  else await requests.optimize('c');
  await reaches(kind, { state: 'running' });
  replicas.identity = identity;
  await reaches(kind, { state: 'failed', error: 'collection "c" does not exist' });
  expect(log.error).not.toHaveBeenCalled();
  expect(log.warn).toHaveBeenCalledWith(expect.objectContaining({ job: expect.any(String) }), 'a job failed');
});

test('a purge that is given up leaves its replicas to themselves', async () => {
  await drive();
  await requests.purge('c', true);
  await reaches(PURGE, { state: 'running' });
  const { id } = await only(PURGE);
  await expect(jobs.pause(id)).rejects.toMatchObject({ kind: 'invalid_parameter' });
  expect(await jobs.cancel(id)).toMatchObject({ state: 'cancelled' });
  replicas.setAll('none');
  expect(await purgeState()).toBe('none');
  expect(replicas.begun).toEqual([1, 1]);
});

test('an optimization is one job however often it is asked for, and is begun again where a node forgot it', async () => {
  await drive();
  replicas.deletedRows = 5;
  await requests.optimize('c');
  await requests.optimize('c');
  await reaches(OPTIMIZE, { state: 'running' });
  await eventually('the driver asked, too', () => replicas.optimizations === 3);
  // The node has started, and the rows are still there.
  replicas.isOptimizing = false;
  await eventually('it is asked again', () => replicas.optimizations === 4);
  replicas.deletedRows = 0;
  replicas.isOptimizing = false;
  await reaches(OPTIMIZE, { state: 'done' });
  expect((await only(OPTIMIZE)).result).toEqual({ rows: 10, rows_indexed: 10, rows_refined: 10 });
});

test('where rows keep coming, an optimization ends all the same', async () => {
  await drive();
  replicas.deletedRows = 1;
  const optimize = replicas.optimize.bind(replicas);
  replicas.optimize = async () => {
    await optimize();
    replicas.isOptimizing = false;
  };
  await requests.optimize('c');
  await reaches(OPTIMIZE, { state: 'done' });
});

test('what the cluster store does not take is no job: the caller learns of it', async () => {
  jest.spyOn(store, 'transact').mockRejectedValue(new QuiverError('unavailable', 'the cluster store is away'));
  await expect(requests.purge('c', true)).rejects.toMatchObject({ kind: 'unavailable' });
  await expect(requests.optimize('c')).rejects.toMatchObject({ kind: 'unavailable' });
});
