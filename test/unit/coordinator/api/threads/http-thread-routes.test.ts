import { MessageChannel } from 'node:worker_threads';
import { ClusterMap } from '../../../../../coordinator/cluster/cluster-map';
import { MapShardRoutes } from '../../../../../coordinator/cluster/calls/map-shard-routes';
import type { ShardRoute } from '../../../../../coordinator/cluster/calls/shard-routes';
import { HttpThreadRoutes, RoutePublisher } from '../../../../../coordinator/api/threads/http-thread-routes';
import { ThreadPeer } from '../../../../../shared/base/threads/thread-peer';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { FEATURES } from '../../../../../shared/base/process/member-version';
import { LATER_ASSIGNMENTS_PREFIX, NODES_PREFIX, shardKey } from '../../../../../shared/cluster-store/entries/members';
import { assignmentPath, assignmentToValue } from '../../../../../shared/cluster-store/entries/shard-assignment';
import { tombstonePath } from '../../../../../shared/cluster-store/entries/tombstones';
import type { StoreChange } from '../../../../../shared/cluster-store/cluster-store';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import { assignmentOf, replicaOn } from '../../../../support/cluster/assignment';
import { eventually } from '../../../../support/eventually';

/**
 * The map of a cluster on the main thread and the routes of two other threads, over real channels whose ends are all
 * here.
 */

const SHARD = { collectionUid: 'c', shard: 0 };

let store: KeyValueClusterStore;
let map: ClusterMap;
let routes: MapShardRoutes;
let told: RoutePublisher;
let ports: { close(): void }[];
/** Questions to the main thread. */
let asked: number;

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  map = new ClusterMap({ store, log: silentLogger });
  await map.follow();
  routes = new MapShardRoutes({ map, clock: systemClock, readReplicas: 'in-sync' });
  told = new RoutePublisher({ routes, clock: systemClock });
  ports = [];
  asked = 0;
  for (const node of ['a', 'b'])
    await put(
      NODES_PREFIX + node,
      JSON.stringify({
        ...{ id: node, address: `${node}:1`, store: `${node}.0`, zone: '', diskBytes: 0, freeBytes: 0 },
        ...{ protocol: 3, oldestProtocol: 3, features: FEATURES },
      }),
    );
});
afterEach(async () => {
  for (const port of ports) port.close();
  told.close();
  routes.close();
  map.close();
  await store.close();
});

function thread(): HttpThreadRoutes {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1);
  const counted = Object.entries(told.handlers).map(([name, handler]) => [
    name,
    (...args: never[]) => {
      asked += 1;
      return handler(...args);
    },
  ]);
  told.follow(new ThreadPeer(port1, Object.fromEntries(counted)));
  const main = new ThreadPeer(port2, {});
  const front = new HttpThreadRoutes({ main, clock: systemClock });
  main.handle(front.handlers);
  return front;
}

async function change(...changes: StoreChange[]): Promise<void> {
  await store.transact([], changes);
}

const put = (key: string, value: string): Promise<void> => change({ type: 'put', key, value });

/** The shard is led by a node from now on. */
function lead(node: string, epoch: number): Promise<void> {
  const spec = { ...SHARD, dim: 2, metric: 'cosine' as const };
  return put(
    assignmentPath(spec),
    assignmentToValue({
      ...assignmentOf({ spec, inSync: ['a', 'b'].map(replicaOn) }),
      primary: replicaOn(node),
      epoch,
    }),
  );
}

const inTime = (ms = 30_000): number => systemClock.monotonicMs() + ms;

test('a thread asks for a route once, and is told of each change', async () => {
  await lead('a', 1);
  const [one, other] = [thread(), thread()];
  expect(one.route(SHARD)).toBeNull();
  await one.changed(SHARD, null, inTime());
  expect(one.route(SHARD)).toEqual({ node: 'a', address: 'a:1', epoch: 1, followers: ['b:1'] });
  await eventually('the other thread is told of what is in use', () => other.route(SHARD) !== null);
  await lead('b', 2);
  for (const front of [one, other]) await eventually('the change is told', () => front.route(SHARD)?.address === 'b:1');
  expect(asked).toBe(1);
  const later = thread();
  await eventually('a thread that starts is told', () => later.route(SHARD)?.epoch === 2);
});

test('a call that was sent by an outdated route waits for the next one, and not past its deadline', async () => {
  await lead('a', 1);
  const front = thread();
  await front.changed(SHARD, null, inTime());
  const stale = front.route(SHARD);
  await front.changed(SHARD, stale, inTime(20));
  expect(front.route(SHARD)).toEqual(stale);
  const changed = front.changed(SHARD, stale, inTime());
  await lead('b', 2);
  await changed;
  expect(front.route(SHARD)).toEqual({ node: 'b', address: 'b:1', epoch: 2, followers: ['a:1'] });
  // It is known already.
  await front.changed(SHARD, stale, inTime());
  // The second wait shared the question of the first, which stays open for longer than the pause of one call.
  expect(asked).toBe(2);
});

test('a shard that nobody leads has no route, and one that was dropped is not found', async () => {
  await lead('a', 1);
  const front = thread();
  await front.changed(SHARD, null, inTime());
  await change({ type: 'delete', key: assignmentPath(SHARD) });
  await eventually('the route is taken back', () => front.route(SHARD) === null);
  await front.changed(SHARD, null, inTime(20));
  await put(tombstonePath(SHARD.collectionUid), 'now');
  await expect(front.changed(SHARD, null, inTime())).rejects.toMatchObject({ kind: 'not_found' });
});

test('calls that wait for the same shard put one question, and each ends at its own deadline, answered or not', async () => {
  const questions: unknown[] = [];
  let answer: (() => void) | undefined;
  const front = new HttpThreadRoutes({
    clock: systemClock,
    main: {
      ask: <Value>(...question: unknown[]) => {
        questions.push(question);
        return new Promise<Value>((done) => (answer = () => done(undefined as Value)));
      },
    },
  });
  const patient = Array.from({ length: 1_000 }, () => front.changed(SHARD, null, inTime()));
  // The main thread says nothing at all.
  await Promise.all(Array.from({ length: 1_000 }, () => front.changed(SHARD, null, inTime(20))));
  expect(questions).toHaveLength(1);
  // It has waited as long as it was asked to, and whoever waits longer asks once more.
  answer?.();
  await eventually('it is asked again', () => questions.length === 2);
  front.handlers['routes.put'](...([[[shardKey(SHARD), { node: 'a', address: 'a:1', epoch: 1 }]]] as never[]));
  await Promise.all(patient);
  expect(questions).toHaveLength(2);
});

test('a change finds each route in use again once, and tells each thread in few messages', async () => {
  const shards = Array.from({ length: 1_000 }, (_, shard) => ({ collectionUid: 'c', shard }));
  let current: ShardRoute = { node: 'a', address: 'a:1', epoch: 1 };
  let found = 0;
  let change = (): void => undefined;
  const many = new RoutePublisher({
    clock: systemClock,
    routes: {
      route: () => {
        found += 1;
        return current;
      },
      changed: async () => undefined,
      onChange: (listener) => {
        change = listener;
        return () => undefined;
      },
    },
  });
  const messages: (readonly [string, ShardRoute])[][] = [];
  for (const shard of shards) await many.handlers['routes.changed'](...([shard, null, 0] as never[]));
  many.follow({ tell: (_name, told) => void messages.push(told as (readonly [string, ShardRoute])[]) });
  expect(messages.map((told) => told.length)).toEqual([1_000]);
  found = 0;
  change();
  await eventually('all are looked at', () => found === 1_000);
  expect(messages).toHaveLength(1);
  // Two changes, of which the second comes while the first is told.
  current = { node: 'b', address: 'b:1', epoch: 2 };
  change();
  change();
  const dependsOnProxy = (): boolean =>
    new Set(messages.slice(1).flatMap((told) => told.flatMap(([key, { epoch }]) => (epoch === 2 ? [key] : []))))
      .size === 1_000;
  await eventually('all are told', dependsOnProxy);
  expect(messages.slice(1).flat()).toHaveLength(1_000);
  expect(messages.length).toBeLessThan(10);
});

test('what nodes know later than the map is put together once for each change of it, however many shards are asked for', async () => {
  for (let shard = 0; shard < 100; shard += 1) {
    const spec = { collectionUid: 'c', shard, dim: 2, metric: 'cosine' as const };
    await put(
      assignmentPath(spec),
      assignmentToValue({ ...assignmentOf({ spec, inSync: [replicaOn('a')] }), primary: replicaOn('a'), epoch: 1 }),
    );
  }
  const seen = jest.spyOn(map, 'ownLater');
  const known = {
    ...assignmentOf({ spec: { ...SHARD, dim: 2, metric: 'cosine' }, inSync: [replicaOn('b')] }),
    primary: replicaOn('b'),
    epoch: 7,
  };
  await put(`${LATER_ASSIGNMENTS_PREFIX}b`, JSON.stringify([{ assignment: known, revision: 900 }]));
  const epochs = (): (number | undefined)[] =>
    Array.from({ length: 100 }, (_, shard) => routes.route({ collectionUid: 'c', shard })?.epoch);
  await eventually('it is known', () => epochs()[0] === 7);
  expect(epochs().slice(1)).toEqual(new Array(99).fill(1));
  expect(seen.mock.calls.length).toBeLessThanOrEqual(2);
});
