import { ClusterJobs } from '../../../../coordinator/cluster/cluster-jobs';
import { ClusterMap } from '../../../../coordinator/cluster/cluster-map';
import { Drains } from '../../../../coordinator/cluster/drains';
import type { ClusterView, NodeView, ShardView } from '../../../../coordinator/cluster/operations/operations-service';
import { JobRequests } from '../../../../coordinator/jobs/record/job-requests';
import { StoredJobs } from '../../../../coordinator/jobs/record/stored-jobs';
import { KeyValueClusterStore } from '../../../../embedded/cluster-store/key-value-cluster-store';
import {
  CONTROLLER_PATH,
  LATER_ASSIGNMENTS_PREFIX,
  NODE_INTENTS_PREFIX,
} from '../../../../shared/cluster-store/entries/members';
import { assignmentPath, assignmentToValue } from '../../../../shared/cluster-store/entries/shard-assignment';
import type { Guard } from '../../../../shared/cluster-store/cluster-store';
import { type Logger, silentLogger } from '../../../../shared/base/logs/logger';
import { assignmentOf, replicaOn } from '../../../support/cluster/assignment';
import { ManualClock } from '../../../support/manual-clock';
import { MemoryKeyValueStore } from '../../../support/models/memory-key-value-store';

/** Drains and moves among the jobs: from their beginning to after their end. */

const DAY_MS = 86_400_000;
const INTENT = `${NODE_INTENTS_PREFIX}a`;

let store: KeyValueClusterStore;
let map: ClusterMap;
let drains: Drains;
let stored: StoredJobs;
let jobs: JobRequests;
let view: ClusterView;
let leadership: { guard: Guard | null };
let clock: ManualClock;

beforeEach(async () => {
  clock = new ManualClock(Date.parse('2026-01-02T00:00:00Z'));
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  await put(CONTROLLER_PATH, 'this');
  leadership = { guard: { key: CONTROLLER_PATH, revision: (await store.get(CONTROLLER_PATH))!.revision } };
  map = new ClusterMap({ store, log: silentLogger });
  await map.follow();
  for (const shard of [0, 1]) await assign(shard, ['a', 'b']);
  drains = new Drains({ store, map, clock });
  view = {
    mode: 'cluster',
    controller: null,
    coordinators: [],
    nodes: [],
    shards: [],
    newShards: [],
    moves: [],
    reshards: [],
  };
  const given = { store, clock, log: silentLogger as Logger, leadership: () => leadership };
  stored = new StoredJobs({ ...given, kinds: [], rightsOf: {} });
  jobs = new JobRequests([stored]);
  jobs.add(new ClusterJobs({ drains, clock, operations: { cluster: async () => view } }));
});
afterEach(async () => {
  stored.entries.close();
  map.close();
  await store.close();
});

async function put(key: string, value: string): Promise<void> {
  await store.transact([], [{ type: 'put', key, value }]);
}

async function assign(shard: number, nodes: string[], epoch = 1): Promise<void> {
  const inSync = nodes.map(replicaOn);
  const value = { ...assignmentOf({ epoch, inSync }), spec: { collectionUid: 'c', shard, dim: 2, metric: 'cosine' } };
  await put(assignmentPath({ collectionUid: 'c', shard }), assignmentToValue(value as never));
  await map.assignments.refresh();
}

async function drained(): Promise<any> {
  return JSON.parse((await store.get(INTENT))?.value ?? 'null');
}

const listed = async (kind: string) => (await jobs.list({ kind, limit: 100 })).jobs;

test('a drain is one job from when it is asked for until after its node holds nothing', async () => {
  await drains.begin('a');
  const [begun] = await listed('drain');
  expect(begun).toMatchObject({
    state: 'running',
    subject: 'a',
    collection: null,
    done: 0,
    total: 2,
    unit: 'replicas',
  });
  expect(begun).toMatchObject({ createdAt: '2026-01-02T00:00:00.000Z', endedAt: null });
  await drains.begin('a');
  expect(await listed('drain')).toEqual([begun]);
  await expect(jobs.pause(begun.id)).rejects.toMatchObject({ kind: 'invalid_parameter' });

  clock.advance(10_000);
  await assign(0, ['b', 'c'], 2);
  await drains.noteDone(leadership);
  expect(await jobs.get(begun.id)).toMatchObject({ state: 'running', progress: 0.5, perSecond: 0.1, secondsLeft: 10 });
  await assign(1, ['b', 'c'], 2);
  await drains.noteDone(leadership);
  const ended = { id: begun.id, state: 'done', progress: 1, done: 2, total: 2, endedAt: '2026-01-02T00:00:10.000Z' };
  expect(await jobs.get(begun.id)).toMatchObject(ended);
  expect(await listed('drain')).toMatchObject([ended]);
  await expect(jobs.cancel(begun.id)).rejects.toMatchObject({ kind: 'conflict' });

  // It stays drained, and nothing is noted twice.
  expect(map.draining()).toEqual(new Set(['a']));
  const { revision } = (await store.get(INTENT))!;
  await drains.noteDone(leadership);
  await drains.begin('a');
  expect((await store.get(INTENT))!.revision).toBe(revision);
  expect(await drains.giveUp('a')).toBe(true);
  expect(map.draining()).toEqual(new Set());
  expect(await listed('drain')).toMatchObject([ended]);
});

test('one that is cancelled is undrained and known as that, and the next one is another', async () => {
  await drains.begin('a');
  const [{ id }] = await listed('drain');
  await assign(0, ['b', 'c'], 2);
  const cancelled = { id, state: 'cancelled', done: 1, total: 2, waitsFor: null, endedAt: expect.any(String) };
  expect(await jobs.cancel(id)).toMatchObject(cancelled);
  expect(await drained()).toEqual({ draining: false });
  expect(await jobs.get(id)).toMatchObject(cancelled);
  expect(await jobs.cancel(id)).toMatchObject(cancelled);
  expect(await drains.giveUp('a')).toBe(false);

  clock.advance(DAY_MS);
  await drains.begin('a');
  const [next, before] = await listed('drain');
  expect(before).toMatchObject(cancelled);
  expect(next.id).not.toBe(id);
  // Who means the one before does not end this one.
  expect(await drains.giveUp('a', id)).toBe(false);
  expect(await drained()).toMatchObject({ draining: true, job: next.id });
});

test('only the controller ends a drain, and only by a map that is not an earlier one', async () => {
  for (const shard of [0, 1]) await assign(shard, ['b', 'c'], 2);
  await drains.begin('a');
  await drains.noteDone({ guard: null });
  const later = { ...assignmentOf({ epoch: 7, inSync: ['a', 'b'].map(replicaOn) }) };
  const spec = { collectionUid: 'c', shard: 0, dim: 2, metric: 'cosine' };
  const key = `${LATER_ASSIGNMENTS_PREFIX}a`;
  await put(key, JSON.stringify([{ assignment: { ...later, spec }, revision: 900 }]));
  await map.later.refresh();
  await drains.noteDone(leadership);
  expect(await drained()).not.toHaveProperty('endedAt');
  await store.transact([], [{ type: 'delete', key }]);
  await map.later.refresh();
  // Another one is elected on the way.
  await put(CONTROLLER_PATH, 'another');
  await drains.noteDone(leadership);
  expect(await listed('drain')).toMatchObject([{ state: 'running', progress: 1 }]);
  leadership.guard = { key: CONTROLLER_PATH, revision: (await store.get(CONTROLLER_PATH))!.revision };
  await drains.noteDone(leadership);
  expect(await listed('drain')).toMatchObject([{ state: 'done', progress: 1, total: 0 }]);
});

test.each([
  ['of an earlier version', '{"draining":true}', [{ id: 'drain-a', state: 'done', total: 0 }]],
  ['that is unreadable', 'damaged', []],
])('an intent %s is no obstacle', async (_what, value, ended) => {
  for (const shard of [0, 1]) await assign(shard, ['b', 'c'], 2);
  await put(INTENT, value);
  await map.intents.refresh();
  await drains.noteDone(leadership);
  expect(await listed('drain')).toMatchObject(ended);
  expect(await drains.giveUp('a')).toBe(ended.length > 0);
  await drains.begin('a');
  expect((await listed('drain'))[0]).toMatchObject({ subject: 'a', state: 'running' });
});

const node = (id: string, state: NodeView['state'] = 'up') => ({ id, state }) as NodeView;
const shardOn = (inSync: string[], state: ShardView['state'] = 'ok', learners: string[] = []) =>
  ({ collection: 'c', shard: 1, inSync, state, learners: learners.map((one) => ({ node: one })) }) as ShardView;
const move = { collection: 'c', shard: 1, from: 'a', to: 'c', phase: 'copying', progress: 0.25 };
const NO_ROOM = 'a node for shard 1 of c: each other one has a replica of it, drains or is down';

describe('what keeps it from getting on is said', () => {
  test.each<[string, Partial<ClusterView>, string | null]>([
    ['nothing: another node is up', { nodes: [node('b'), node('c')], shards: [shardOn(['a', 'b'])] }, null],
    ['no other node', { nodes: [node('a'), node('b')], shards: [shardOn(['a', 'b'])] }, NO_ROOM],
    [
      'others that are of no use',
      { nodes: [node('c', 'down'), node('d', 'drained')], shards: [shardOn(['a'])] },
      NO_ROOM,
    ],
    [
      'nothing: it moves',
      { nodes: [node('b')], shards: [shardOn(['a', 'b'], 'degraded', ['c'])], moves: [move] },
      null,
    ],
    ['nothing: it is of others', { nodes: [node('b'), node('c')], shards: [shardOn(['b', 'c'])] }, null],
    [
      'nobody serves it',
      { nodes: [node('a')], shards: [shardOn(['a', 'b'], 'unavailable')] },
      'shard 1 of c, which no node serves',
    ],
    [
      'it is down itself',
      { nodes: [node('a', 'down')], shards: [shardOn(['a'], 'unavailable')] },
      'node a, which is down',
    ],
  ])('of a drain: %s', async (_what, seen, waitsFor) => {
    await drains.begin('a');
    Object.assign(view, seen);
    expect(await listed('drain')).toMatchObject([{ waitsFor }]);
  });

  test.each<[string, Partial<ClusterView>, string | null]>([
    ['nothing', { nodes: [node('c')], shards: [shardOn(['a'])] }, null],
    ['its target is down', { nodes: [node('c', 'down')], shards: [shardOn(['a'])] }, 'node c, which is down'],
    [
      'nobody serves it',
      { nodes: [node('c')], shards: [shardOn(['a'], 'unavailable')] },
      'shard 1 of c, which no node serves',
    ],
  ])('of a move: %s', async (_what, seen, waitsFor) => {
    Object.assign(view, seen, { moves: [move] });
    expect(await listed('move')).toMatchObject([{ waitsFor }]);
  });
});

test('a move has an id of its own, whatever names there are, and is not cancelled', async () => {
  const others = [
    { ...move, collection: 'c-1', shard: 2, to: 'n' },
    { ...move, collection: 'c', shard: 1, to: '2-n' },
    { ...move, collection: 'c', shard: 1, from: '2-n', to: '' },
    { ...move, collection: 'c', shard: 1, from: '2.n', to: '' },
  ];
  view.moves = [others[0], others[1], others[3]];
  const found = await listed('move');
  expect(new Set(found.map(({ id }) => id)).size).toBe(3);
  expect(found[2]).toMatchObject({ state: 'running', step: 'copying', progress: 0.25, done: 0.25, total: 1 });
  await expect(jobs.cancel(found[0].id)).rejects.toMatchObject({ kind: 'conflict' });
  await expect(jobs.get('move-none.0.n')).rejects.toMatchObject({ kind: 'not_found' });
});
