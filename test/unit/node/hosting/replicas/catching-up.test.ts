import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CATCH_UP_MAX_MS, CatchingUp } from '../../../../../node/hosting/replicas/catching-up';
import type { HostedReplica } from '../../../../../node/hosting/replicas/hosted-replica';
import { KnownAssignments } from '../../../../../node/hosting/replicas/known-assignments';
import { NodeAgent } from '../../../../../node/hosting/replicas/node-agent';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import {
  memberFromEntry,
  type NodeMember,
  NODES_PREFIX,
  storeOf,
} from '../../../../../shared/cluster-store/entries/members';
import {
  assignmentPath,
  assignmentToValue,
  type ShardAssignment,
} from '../../../../../shared/cluster-store/entries/shard-assignment';
import { WatchedEntries } from '../../../../../shared/cluster-store/entries/watched-entries';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { OpsServer, type Readiness } from '../../../../../shared/base/process/ops-server';
import { systemClock } from '../../../../../shared/base/time/clock';
import { ManualClock } from '../../../../support/manual-clock';
import { assignmentOf, replicaOn } from '../../../../support/cluster/assignment';
import { eventually } from '../../../../support/eventually';

/**
 * When node `a` is ready after its start, by a shard map and members that change as primaries and sessions change them.
 */

let folder: string;
let store: ClusterStore;
let agent: NodeAgent;
let members: WatchedEntries<NodeMember>;
let clock: ManualClock;
let ops: OpsServer;
let readyz: () => Promise<[number, string]>;
/** The replicas that node `a` has: another store than usual says that its data were lost. */
let ownStore: string;
const warnings: string[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-catching-up-'));
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  clock = new ManualClock();
  ownStore = replicaOn('a').store;
  warnings.length = 0;
  for (const node of ['b', 'c']) await register(node);
});
afterEach(async () => {
  await ops.close();
  await agent.close();
  members.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** As node/main.ts does it, with replicas that are nothing but open. */
async function start(): Promise<void> {
  let readiness: () => Readiness = () => ({ ready: false, reason: 'recovering' });
  ops = new OpsServer({
    readiness: () => readiness(),
    metrics: async () => ({ contentType: 'text/plain', text: '' }),
    onError: () => undefined,
  });
  const port = await ops.listen(0, '127.0.0.1');
  readyz = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    return [answer.status, (await answer.text()).trim()];
  };
  agent = new NodeAgent({
    openReplicasMax: Infinity,
    nodeId: 'a',
    store,
    folder,
    openReplica: async (spec) =>
      ({ spec, replica: { assigned: () => undefined }, close: async () => undefined }) as unknown as HostedReplica,
    removeReplica: async () => undefined,
    publishFailures: () => undefined,
    known: await KnownAssignments.load(folder, silentLogger),
    promisedEpoch: async () => 0,
    publishLater: () => undefined,
    clock: systemClock,
    log: silentLogger,
  });
  members = new WatchedEntries({
    store,
    prefix: NODES_PREFIX,
    decode: memberFromEntry<NodeMember>,
    onUnreadable: () => undefined,
  });
  await members.follow();
  await agent.start(new AbortController().signal);
  const catchingUp = new CatchingUp({
    assigned: () => agent.assigned(),
    own: () => ({ node: 'a', store: ownStore }),
    isThere: (replica, id) => {
      const found = members.get(NODES_PREFIX + replica.node);
      return found !== null && storeOf(found.value, id) === replica.store;
    },
    clock,
    log: { ...silentLogger, warn: (_fields, message) => void warnings.push(message) },
  });
  readiness = () => catchingUp.look();
}

async function assign(shard: number, change: Partial<ShardAssignment>): Promise<void> {
  const assignment = assignmentOf({
    spec: { collectionUid: 'c', shard, dim: 2, metric: 'cosine' },
    replicas: ['a', 'b'],
    ...change,
  });
  await store.transact(
    [],
    [{ type: 'put', key: assignmentPath(assignment.spec), value: assignmentToValue(assignment) }],
  );
}

async function register(node: string, change: Partial<NodeMember> = {}): Promise<void> {
  await store.transact(
    [],
    [
      {
        type: 'put',
        key: NODES_PREFIX + node,
        value: JSON.stringify({ id: node, store: replicaOn(node).store, ...change }),
      },
    ],
  );
}

/** Its session is over. */
async function leave(node: string): Promise<void> {
  await store.transact([], [{ type: 'delete', key: NODES_PREFIX + node }]);
}

const withoutIt = [replicaOn('b')];
const withIt = [replicaOn('b'), replicaOn('a')];
const READY: [number, string] = [200, 'ok'];
const isReady = (): Promise<void> => eventually('it is ready', async () => (await readyz())[0] === 200);
const says = (text: string): Promise<void> => eventually(text, async () => (await readyz())[1] === text);

test('a node is ready once each replica that was out of sync at its start has been in sync, or is not its own any more', async () => {
  for (const shard of [0, 1, 2]) await assign(shard, { inSync: withoutIt });
  await assign(3, { inSync: withIt });
  await start();
  expect(await readyz()).toEqual([503, 'catching up: 0 of 3 replicas are in sync again']);
  await assign(0, { inSync: withIt });
  await says('catching up: 1 of 3 replicas are in sync again');
  // One that falls behind again, and one that comes later, are not of the start.
  await assign(0, { inSync: withoutIt });
  await assign(4, { inSync: withoutIt });
  await assign(1, { inSync: withoutIt, replicas: ['b', 'c'], epoch: 2 });
  await says('catching up: 2 of 3 replicas are in sync again');
  await assign(2, { inSync: withIt });
  await isReady();
  await assign(2, { inSync: withoutIt });
  await eventually('the node knows', () =>
    agent.assigned().some(({ spec, inSync }) => spec.shard === 2 && inSync.length === 1),
  );
  expect(await readyz()).toEqual(READY);
});

test('a node that lost its data is out of sync, though the map names it', async () => {
  await assign(0, { inSync: withIt });
  ownStore = 'another';
  await start();
  expect((await readyz())[0]).toBe(503);
  await assign(0, { inSync: [replicaOn('b'), { node: 'a', store: 'another' }] });
  await isReady();
});

test('a node without replicas, and one whose replicas are all in sync, is ready at once', async () => {
  await assign(0, { inSync: withIt });
  await assign(1, { inSync: withoutIt, replicas: ['b', 'c'] });
  await start();
  expect(await readyz()).toEqual(READY);
});

test('nodes that all start at once wait for nobody who is not there: each is ready before the others are members', async () => {
  for (const node of ['b', 'c']) await leave(node);
  await assign(0, { inSync: withoutIt });
  await assign(1, { inSync: [replicaOn('c')], replicas: ['a', 'b', 'c'] });
  await assign(2, { inSync: [], primary: null, epoch: 0 });
  await start();
  expect(await readyz()).toEqual(READY);
});

test('a primary that goes, or has lost its data, is not waited for any longer', async () => {
  await assign(0, { inSync: withoutIt });
  await assign(1, { inSync: [replicaOn('c')], replicas: ['a', 'c'] });
  await start();
  await leave('b');
  await eventually('its session is over', () => members.get(`${NODES_PREFIX}b`) === null);
  expect((await readyz())[0]).toBe(503);
  await register('c', { stores: { 'c/1': 'another' } });
  await isReady();
});

test('a shard that is filled from a backup is not waited for', async () => {
  const seed = { target: '/backups', backup: 'b', collectionUid: 'old', shards: 1 };
  await assign(0, { spec: { collectionUid: 'c', shard: 0, dim: 2, metric: 'cosine', seed }, inSync: withoutIt });
  await start();
  expect(await readyz()).toEqual(READY);
});

test('one replica that does not come in sync keeps the node from being ready for eight minutes and no longer', async () => {
  await assign(0, { inSync: withoutIt });
  await start();
  clock.advance(CATCH_UP_MAX_MS - 1);
  expect((await readyz())[0]).toBe(503);
  expect(warnings).toEqual([]);
  clock.advance(1);
  expect(await readyz()).toEqual(READY);
  expect(await readyz()).toEqual(READY);
  expect(warnings).toEqual([expect.stringContaining('still out of sync')]);
});
