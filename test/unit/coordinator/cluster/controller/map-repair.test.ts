import { FEATURES } from '../../../../../shared/base/process/member-version';
import { Adoption } from '../../../../../coordinator/cluster/controller/adoption';
import { ClusterMap } from '../../../../../coordinator/cluster/cluster-map';
import { Controller } from '../../../../../coordinator/cluster/controller/controller';
import { MapRepair } from '../../../../../coordinator/cluster/controller/map-repair';
import { MapShardRoutes } from '../../../../../coordinator/cluster/calls/map-shard-routes';
import { reportsOf } from '../../../../../coordinator/cluster/controller/node-reports';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import {
  CONTROLLER_PATH,
  LATER_ASSIGNMENTS_PREFIX,
  NODES_PREFIX,
} from '../../../../../shared/cluster-store/entries/members';
import type { NodeReport } from '../../../../../shared/cluster-store/entries/node-report';
import {
  assignmentFromEntry,
  assignmentPath,
  assignmentToValue,
  type ShardAssignment,
} from '../../../../../shared/cluster-store/entries/shard-assignment';
import type { ClusterStore, Guard } from '../../../../../shared/cluster-store/cluster-store';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { ManualClock } from '../../../../support/manual-clock';
import { assignmentOf, replicaOn } from '../../../../support/cluster/assignment';
import { eventually } from '../../../../support/eventually';

/**
 * What coordinators do about a shard whose map was put back: x led it in epoch 3, and a leads it in epoch 7, with b in
 * sync.
 */

const SHARD = { collectionUid: 'c', shard: 0 };
const PATH = assignmentPath(SHARD);

function assignment(epoch: number, inSync: string[]): ShardAssignment {
  return assignmentOf({ epoch, inSync: inSync.map(replicaOn) });
}

let store: ClusterStore;
let map: ClusterMap;
let leadership: { guard: Guard };
let reports: Record<string, NodeReport | null>;
const ends: (() => unknown)[] = [];

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  await put(PATH, assignmentToValue(assignment(3, ['x', 'y'])));
  for (const node of ['a', 'b', 'y'])
    await put(NODES_PREFIX + node, JSON.stringify({ id: node, address: node, store: `${node}.0`, zone: '' }));
  for (const node of ['a', 'b'])
    await put(
      LATER_ASSIGNMENTS_PREFIX + node,
      JSON.stringify([{ assignment: assignment(7, ['a', 'b']), revision: 900 }]),
    );
  await put(CONTROLLER_PATH, 'coordinator');
  leadership = { guard: { key: CONTROLLER_PATH, revision: (await store.get(CONTROLLER_PATH))!.revision } };
  reports = { a: holding('primary', 7), b: holding('follower', 7), y: holding('follower', 3) };
  map = new ClusterMap({ store, log: silentLogger });
  await map.follow();
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  map.close();
  await store.close();
});

async function put(key: string, value: string): Promise<void> {
  await store.transact([], [{ type: 'put', key, value }]);
}

async function current(): Promise<ShardAssignment> {
  return assignmentFromEntry((await store.get(PATH))!);
}

function holding(role: 'primary' | 'follower', epoch: number): NodeReport {
  return {
    shards: [{ ...SHARD, role, epoch, lastSequence: 5, appliedSequence: 5, vectors: 0, diskBytes: 0, peers: [] }],
  };
}

const askNode = async (node: string): Promise<NodeReport | null> => reports[node];

test('the map is put right where it is clear what was in force', async () => {
  let repaired = 0;
  const repair = new MapRepair({
    store,
    map,
    leadership,
    askNode,
    log: silentLogger,
    onRepaired: () => (repaired += 1),
  });
  ends.push(() => repair.close());
  repair.look();
  await eventually('it is', () => repaired === 1);
  expect(await current()).toMatchObject({ ...assignment(7, ['a', 'b']), epoch: 8, changeId: expect.any(String) });
  expect(map.behind().size).toBe(0);
});

test('where it is not clear the map stays, and the log says why, once', async () => {
  reports.b = null;
  const said: unknown[] = [];
  const repair = new MapRepair({
    store,
    map,
    leadership,
    askNode,
    log: { ...silentLogger, error: (fields) => void said.push(fields) },
    onRepaired: () => undefined,
  });
  repair.look();
  await eventually('it says so', () => said.length > 0);
  await repair.close();
  expect(said).toEqual([{ ...SHARD, why: 'node b does not answer for its replica' }]);
  expect((await current()).epoch).toBe(3);
});

test('nothing is planned by a map that is earlier than what nodes know', async () => {
  const changed: string[] = [];
  const controller = new Controller({
    store,
    map,
    leadership,
    clock: new ManualClock(),
    log: silentLogger,
    onChanged: (reason) => void changed.push(reason),
  });
  ends.push(() => controller.close());
  controller.look();
  await put('/q/keys/k', 'anything');
  await controller.close();
  expect([changed, (await current()).epoch]).toEqual([[], 3]);
  // Without that knowledge y would lead, because x is gone.
  for (const node of ['a', 'b']) await store.transact([], [{ type: 'delete', key: LATER_ASSIGNMENTS_PREFIX + node }]);
  await eventually('the map knows', () => map.behind().size === 0);
  const next = new Controller({
    store,
    map,
    leadership,
    clock: new ManualClock(),
    log: silentLogger,
    onChanged: (reason) => void changed.push(reason),
  });
  ends.push(() => next.close());
  next.look();
  await eventually('y leads', () => changed.length > 0);
  expect((await current()).primary).toEqual(replicaOn('y'));
});

test('what a coordinator has seen itself counts, although no node tells of it', async () => {
  const { entries, revision } = await store.list('/q/');
  await put(PATH, assignmentToValue(assignment(7, ['a', 'b'])));
  for (const node of ['a', 'b']) await store.transact([], [{ type: 'delete', key: LATER_ASSIGNMENTS_PREFIX + node }]);
  await eventually('the map knows', () => map.assignments.get(PATH)?.value.epoch === 7 && map.later.all().length === 0);
  expect(map.ownLater()).toEqual([]);
  // The store is put back.
  jest
    .spyOn(store, 'list')
    .mockImplementation(async (prefix) => ({ entries: entries.filter(({ key }) => key.startsWith(prefix)), revision }));
  await map.assignments.refresh();
  expect(map.assignments.get(PATH)?.value.epoch).toBe(3);
  expect(map.ownLater()).toMatchObject([{ assignment: { epoch: 7 } }]);
  expect([...map.behind().keys()]).toEqual([PATH]);
  expect(map.inForce(PATH)?.epoch).toBe(7);
});

test('calls go to the node that leads by what is known', () => {
  const routes = new MapShardRoutes({ map, clock: new ManualClock(), readReplicas: 'primary' });
  ends.push(() => routes.close());
  // Nothing is known of the versions of the nodes.
  expect(routes.route(SHARD)).toEqual({ node: 'a', address: 'a', epoch: 7, lacking: FEATURES });
});

describe('an operator', () => {
  const adoption = (): Adoption =>
    new Adoption({ store, map, reports: () => reportsOf(map, askNode), clock: new ManualClock(), log: silentLogger });

  test('may decide for one replica, above every epoch that is known, and that is recorded', async () => {
    reports.a = null;
    expect(await adoption().adopt(SHARD, 'b')).toEqual({ epoch: 8, before: 3 });
    expect(await current()).toMatchObject({
      epoch: 8,
      primary: replicaOn('b'),
      inSync: [replicaOn('b')],
      eligible: [],
      replicas: ['a', 'b'],
    });
    const record = JSON.parse((await store.get('/q/adoptions/c/0'))!.value);
    expect(record).toMatchObject({
      node: 'b',
      epoch: 8,
      at: expect.any(String),
      map: { epoch: 3 },
      known: { a: { revision: 900 } },
    });
  });

  test('decides nothing for a store that is gone by then', async () => {
    const reports = async (): Promise<Map<string, NodeReport>> => {
      const answered = await reportsOf(map, askNode);
      await put(NODES_PREFIX + 'b', JSON.stringify({ id: 'b', address: 'b', store: 'b.1', zone: '' }));
      return answered;
    };
    await expect(
      new Adoption({ store, map, reports, clock: new ManualClock(), log: silentLogger }).adopt(SHARD, 'b'),
    ).rejects.toMatchObject({ kind: 'unavailable' });
    expect((await current()).epoch).toBe(3);
  });

  test('may not where there is nothing to decide, nor for a node that is away or holds nothing', async () => {
    await expect(adoption().adopt(SHARD, 'x')).rejects.toMatchObject({ kind: 'not_found' });
    reports.y = { shards: [] };
    await expect(adoption().adopt(SHARD, 'y')).rejects.toMatchObject({ kind: 'invalid_parameter' });
    await expect(adoption().adopt({ ...SHARD, shard: 1 }, 'a')).rejects.toMatchObject({ kind: 'not_found' });
    await put(PATH, assignmentToValue(assignment(8, ['a', 'b'])));
    await eventually('the map knows', () => map.behind().size === 0);
    await expect(adoption().adopt(SHARD, 'a')).rejects.toMatchObject({ kind: 'invalid_parameter' });
    expect((await current()).epoch).toBe(8);
  });
});
