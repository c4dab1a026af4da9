import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KnownAssignments } from '../../../../../node/hosting/replicas/known-assignments';
import { NodeAgent, type NodeAgentOptions } from '../../../../../node/hosting/replicas/node-agent';
import type { HostedReplica } from '../../../../../node/hosting/replicas/hosted-replica';
import { removeReplica } from '../../../../../node/replication/shard-copy';
import {
  assignmentPath,
  assignmentToValue,
  type KnownAssignment,
  type ShardAssignment,
} from '../../../../../shared/cluster-store/entries/shard-assignment';
import { LATER_ASSIGNMENTS_PREFIX } from '../../../../../shared/cluster-store/entries/members';
import { tombstonePath } from '../../../../../shared/cluster-store/entries/tombstones';
import type { ClusterStore, StoreEvent } from '../../../../../shared/cluster-store/cluster-store';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import { assignmentOf } from '../../../../support/cluster/assignment';
import { LaterFormatError } from '../../../../../node/engine/files/later-format';
import { eventually } from '../../../../support/eventually';

/** What a node makes of the shard map, with replicas that are nothing but open or closed. */

let folder: string;
let store: ClusterStore;
let agent: NodeAgent | null = null;
let known: KnownAssignments;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-agent-'));
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
});
afterEach(async () => {
  await agent?.close();
  agent = null;
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(
  options: Partial<NodeAgentOptions>,
  ending: AbortSignal = new AbortController().signal,
): Promise<NodeAgent> {
  known = await KnownAssignments.load(folder, silentLogger);
  agent = new NodeAgent({
    openReplicasMax: Infinity,
    nodeId: 'a',
    store,
    folder,
    openReplica: async (spec) => replicaOf(spec),
    removeReplica: ({ collectionUid, shard }) => removeReplica(join(folder, 'shards', collectionUid, String(shard))),
    publishFailures: () => undefined,
    known,
    promisedEpoch: async () => 0,
    publishLater: () => undefined,
    clock: systemClock,
    log: silentLogger,
    ...options,
  });
  await agent.start(ending);
  return agent;
}

async function stop(): Promise<void> {
  await agent?.close();
  await known.settled();
}

function replicaOf(spec: ShardAssignment['spec']): HostedReplica {
  return { spec, replica: { assigned: () => undefined }, close: async () => undefined } as unknown as HostedReplica;
}

async function assign(shard: number, change: Partial<ShardAssignment> = {}): Promise<void> {
  const assignment = assignmentOf({
    spec: { collectionUid: 'c', shard, dim: 2, metric: 'cosine' },
    primary: null,
    replicas: ['a'],
    ...change,
  });
  await store.transact(
    [],
    [{ type: 'put', key: assignmentPath(assignment.spec), value: assignmentToValue(assignment) }],
  );
}

test('a shard that can not be opened is told of until it can', async () => {
  await assign(0);
  await assign(1);
  let isFull = true;
  const told: string[][] = [];
  const started = await start({
    openReplica: async (spec) => {
      if (spec.shard === 1 && isFull) throw new Error('no space left on device');
      return replicaOf(spec);
    },
    publishFailures: (paths) => void told.push(paths),
  });
  const sick = [assignmentPath({ collectionUid: 'c', shard: 1 })];
  expect(told.at(-1)).toEqual(sick);
  isFull = false;
  await eventually('it is open', () => started.hosted({ collectionUid: 'c', shard: 1 }) !== null);
  expect(told.at(-1)).toEqual([]);
});

test('a node begins without the shard that is filled from a backup, however long that takes', async () => {
  await assign(0);
  const seed = { target: '/backups', backup: 'b', shards: 1, shard: 0 } as unknown as NonNullable<
    ShardAssignment['spec']['seed']
  >;
  await assign(1, { spec: { collectionUid: 'c', shard: 1, dim: 2, metric: 'cosine', seed } });
  let fill: () => void = () => undefined;
  const started = await start({
    openReplica: (spec) =>
      spec.seed === undefined
        ? Promise.resolve(replicaOf(spec))
        : new Promise((done) => (fill = () => done(replicaOf(spec)))),
  });
  expect([0, 1].map((shard) => started.hosted({ collectionUid: 'c', shard }) !== null)).toEqual([true, false]);
  fill();
  await eventually('it is open, too', () => started.hosted({ collectionUid: 'c', shard: 1 }) !== null);
});

test('a node that is asked to end while it opens its shards begins nothing more', async () => {
  await assign(0);
  const ending = new AbortController();
  let open: () => void = () => undefined;
  const starting = start(
    { openReplica: (spec) => new Promise((done) => (open = () => done(replicaOf(spec)))) },
    ending.signal,
  );
  await eventually('it opens', async () => agent !== null && agent.closedReplicas === 1);
  ending.abort();
  await expect(starting).rejects.toMatchObject({ kind: 'unavailable' });
  open();
});

test('a replica that fails while it is open is told of until it is open again', async () => {
  await assign(0);
  const told: string[][] = [];
  const started = await start({ publishFailures: (paths) => void told.push(paths) });
  started.failed({ collectionUid: 'c', shard: 0 }, new Error('it failed'));
  expect(told.at(-1)).toEqual([assignmentPath({ collectionUid: 'c', shard: 0 })]);
  await eventually('it is open', () => started.hosted({ collectionUid: 'c', shard: 0 }) !== null);
  expect(told.at(-1)).toEqual([]);
});

test('a replica that met what a later version wrote stops, and is not opened again and again', async () => {
  await assign(0);
  await assign(1);
  const opened: number[] = [];
  const started = await start({
    openReplica: async (spec) => {
      opened.push(spec.shard);
      return replicaOf(spec);
    },
  });
  started.failed({ collectionUid: 'c', shard: 0 }, new LaterFormatError('entry 7', 'it has format 2'));
  started.failed({ collectionUid: 'c', shard: 1 }, new Error('it failed'));
  await eventually('the other one is open again', () => started.hosted({ collectionUid: 'c', shard: 1 }) !== null);
  expect(opened).toEqual([0, 1, 1]);
  expect(started.closedReplicas).toBe(1);
});

test('of a collection that was dropped while the node was down nothing is left, half-made copies neither', async () => {
  for (const name of ['0', '0.incoming', '1.incoming', '2.outgoing', 'note'])
    mkdirSync(join(folder, 'shards', 'gone', name, 'records'), { recursive: true });
  mkdirSync(join(folder, 'shards', 'unknown', '0'), { recursive: true });
  await store.transact([], [{ type: 'put', key: tombstonePath('gone'), value: '' }]);
  await start({});
  // What no tombstone names is nobody's to remove, and what is no shard's neither.
  expect(readdirSync(join(folder, 'shards', 'gone'))).toEqual(['note']);
  expect(readdirSync(join(folder, 'shards', 'unknown'))).toEqual(['0']);
});

describe('a replica that has moved away', () => {
  /** A node that keeps nothing; what happens to shard 0 in order, and a way to hold one step of it. */
  async function follow(): Promise<{ happened: string[]; hold: (step: string) => () => void }> {
    const happened: string[] = [];
    const held = new Map<string, Promise<void>>();
    const step = async (name: string): Promise<void> => {
      happened.push(name);
      await held.get(name);
    };
    await assign(0);
    await start({
      keepMovedMs: 1,
      openReplica: async (spec) => {
        await step('opened');
        return { ...replicaOf(spec), close: () => step('closing').then(() => void happened.push('closed')) };
      },
      promisedEpoch: () => step('looking').then(() => 1),
      removeReplica: () => step('removing').then(() => void happened.push('removed')),
    });
    const hold = (name: string): (() => void) => {
      let letGo = (): void => undefined;
      held.set(name, new Promise<void>((go) => (letGo = go)));
      return () => {
        held.delete(name);
        letGo();
      };
    };
    return { happened, hold };
  }

  test.each(['closing', 'removing'])('and comes back while it is %s is opened after that', async (step) => {
    const { happened, hold } = await follow();
    const letGo = hold(step);
    await assign(0, { replicas: ['b'], epoch: 2 });
    await eventually('it is there', () => happened.includes(step));
    await assign(0, { epoch: 3 });
    await eventually('the node knows', () => agent!.replicaCount === 1);
    // Whatever is done without waiting is done by then.
    await new Promise((wake) => setTimeout(wake, 20));
    expect(happened.filter((one) => one === 'opened')).toHaveLength(1);
    letGo();
    await eventually('it is open', () => agent!.hosted({ collectionUid: 'c', shard: 0 }) !== null);
    expect(happened).toEqual([
      'opened',
      'closing',
      'closed',
      ...(step === 'removing' ? ['looking', 'removing', 'removed'] : []),
      'opened',
    ]);
  });

  test('is kept as long as it may be promoted', async () => {
    const removed: number[] = [];
    for (const shard of [0, 1]) await assign(shard);
    const started = await start({ keepMovedMs: 1, removeReplica: async ({ shard }) => void removed.push(shard) });
    await assign(0, { replicas: ['b'], eligible: [{ node: 'a', store: 'a.0' }], epoch: 2 });
    await eventually('the node knows', () => started.replicaCount === 1);
    await assign(1, { replicas: ['b'], epoch: 2 });
    await eventually('the other one is removed', () => removed.includes(1));
    expect(removed).toEqual([1]);
    await assign(0, { replicas: ['b'], epoch: 3 });
    await eventually('it is removed, too', () => removed.includes(0));
  });

  test('is opened after its data were looked at, when it comes back meanwhile', async () => {
    const { happened, hold } = await follow();
    const letGo = hold('looking');
    await assign(0, { replicas: ['b'], epoch: 2 });
    await eventually('they are looked at', () => happened.includes('looking'));
    await assign(0, { epoch: 3 });
    await eventually('the node knows', () => agent!.replicaCount === 1);
    letGo();
    await eventually('it is open', () => agent!.hosted({ collectionUid: 'c', shard: 0 }) !== null);
    expect(happened).toEqual(['opened', 'closing', 'closed', 'looking', 'opened']);
  });

  test('goes at once when its collection is dropped', async () => {
    const removed: number[] = [];
    await assign(0);
    const started = await start({ removeReplica: async ({ shard }) => void removed.push(shard) });
    await assign(0, { replicas: ['b'], epoch: 2 });
    await eventually('the node knows', () => started.replicaCount === 0);
    await store.transact([], [{ type: 'put', key: tombstonePath('c'), value: '' }]);
    await eventually('it is removed', () => removed.length === 1);
  });
});

/** The time after which the data of a replica that has moved away go. */
const KEEP_MOVED_MS = 600_000;
const SHARD = { collectionUid: 'c', shard: 0 };

function makeData(): string {
  const data = join(folder, 'shards', 'c', '0');
  mkdirSync(join(data, 'records'), { recursive: true });
  return data;
}

/** Lets the time of a removal come. What it then asks for is answered in its own time. */
async function afterTheGrace(act: () => Promise<unknown>): Promise<void> {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance', 'Date'] });
  try {
    await act();
    await jest.advanceTimersByTimeAsync(KEEP_MOVED_MS + 1);
  } finally {
    jest.useRealTimers();
  }
}

test('a map that is earlier than the promise of the data costs no data, however long it lasts', async () => {
  const data = makeData();
  await assign(0, { epoch: 3, replicas: ['x', 'y'] });
  const errors: string[] = [];
  await afterTheGrace(() =>
    start({
      promisedEpoch: async () => 7,
      log: { ...silentLogger, error: (_fields, message) => void errors.push(message) },
    }),
  );
  await eventually('it was looked at', () => errors.length > 0);
  expect(errors).toEqual([expect.stringContaining('they stay')]);
  expect(existsSync(data)).toBe(true);
});

test('what stays because the map may be earlier goes when its collection is dropped', async () => {
  const data = makeData();
  await assign(0, { epoch: 3, replicas: ['x', 'y'] });
  let errors = 0;
  await afterTheGrace(() =>
    start({ promisedEpoch: async () => 7, log: { ...silentLogger, error: () => void (errors += 1) } }),
  );
  await eventually('it was looked at', () => errors > 0);
  await store.transact([], [{ type: 'put', key: tombstonePath('c'), value: '' }]);
  await eventually('they are gone', () => !existsSync(data));
});

test('data that the map took away in a later epoch go after the grace', async () => {
  const data = makeData();
  await assign(0, { epoch: 8, replicas: ['x', 'y'] });
  await afterTheGrace(() => start({ promisedEpoch: async () => 7 }));
  await eventually('they are gone', () => !existsSync(data));
});

test('what a node knows stays in force when the map is put back, is told of, and gives way to a later map', async () => {
  const assigned: [number, number][] = [];
  const closed: string[] = [];
  const told: KnownAssignment[][] = [];
  const openReplica: NodeAgentOptions['openReplica'] = async (spec) =>
    ({
      spec,
      replica: {
        assigned: (assignment: ShardAssignment, revision: number) => assigned.push([assignment.epoch, revision]),
      },
      close: async (reason: string) => void closed.push(reason),
    }) as unknown as HostedReplica;
  const options: Partial<NodeAgentOptions> = { openReplica, publishLater: (later) => void told.push(later) };
  for (let changes = 0; changes < 20; changes += 1)
    await store.transact([], [{ type: 'put', key: '/q/keys/k', value: String(changes) }]);
  await assign(0, { epoch: 7 });
  await start(options);
  await stop();
  expect(told.at(-1)).toEqual([]);

  // Another store, with fewer changes: that of before this node was given the shard.
  await store.close();
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  await assign(0, { epoch: 6, replicas: ['x', 'y'] });
  assigned.length = 0;
  await start(options);
  expect(agent!.hosted(SHARD)).not.toBeNull();
  expect(assigned.at(-1)).toEqual([7, 21]);
  expect(told.at(-1)).toMatchObject([{ assignment: { epoch: 7, replicas: ['a'] }, revision: 21 }]);

  await assign(0, { epoch: 8, replicas: ['a', 'x'] });
  await eventually('the repaired map is in force', () => assigned.at(-1)?.[0] === 8);
  expect(told.at(-1)).toEqual([]);
  expect(closed).toEqual(['closed']);
});

test('a replica that fails to close does not keep the others from closing whole', async () => {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const happened: string[] = [];
  const closeOf: Record<number, () => Promise<void>> = {
    0: async () => {
      throw new Error('the disk is gone');
    },
    1: () => finished.then(() => void happened.push('closed')),
  };
  await assign(0);
  await assign(1);
  const started = await start({
    openReplica: async (spec) => ({ ...replicaOf(spec), close: closeOf[spec.shard] }) as unknown as HostedReplica,
  });
  const ended = started.close().catch((error: Error) => void happened.push(error.message));
  agent = null;
  // Long enough for the failure to come through, if nothing waited for the other.
  await new Promise((wake) => setImmediate(wake));
  finish();
  await ended;
  expect(happened).toEqual(['closed', 'the disk is gone']);
});

test('what another member knows later than the map is in force here, too', async () => {
  const assigned: [number, ShardAssignment['primary'], number][] = [];
  const openReplica: NodeAgentOptions['openReplica'] = async (spec) =>
    ({
      spec,
      replica: {
        assigned: ({ epoch, primary }: ShardAssignment, revision: number) => assigned.push([epoch, primary, revision]),
      },
      close: async () => undefined,
    }) as unknown as HostedReplica;
  const [own, other] = ['a', 'b'].map((node) => ({ node, store: `store of ${node}` }));
  // b went on alone while this node was away, in the same epoch; by the map that was put back, this node leads.
  await assign(0, { primary: own, inSync: [own, other], replicas: ['a', 'b'] });
  const { value, revision } = (await store.get(assignmentPath(SHARD)))!;
  const since = { ...(JSON.parse(value) as ShardAssignment), primary: other, inSync: [other] };
  await store.transact(
    [],
    [
      {
        type: 'put',
        key: `${LATER_ASSIGNMENTS_PREFIX}coordinator/k`,
        value: JSON.stringify([{ assignment: since, revision: revision + 900 }]),
      },
    ],
  );
  await start({ openReplica });
  expect(assigned).toEqual([[1, other, revision + 900]]);
});

test('an earlier map does not make a node begin anew what has moved away from it', async () => {
  const data = makeData();
  const opened: number[] = [];
  const openReplica: NodeAgentOptions['openReplica'] = async (spec) => {
    opened.push(spec.shard);
    return replicaOf(spec);
  };
  const options: Partial<NodeAgentOptions> = { openReplica };
  await assign(0, { epoch: 8, replicas: ['x', 'y'] });
  await afterTheGrace(() => start(options));
  await eventually('the data are gone', () => !existsSync(data));
  await stop();

  await assign(0, { epoch: 1, replicas: ['a', 'x'] });
  await start(options);
  expect(opened).toEqual([]);
  // It may come back by a map that is not earlier.
  await assign(0, { epoch: 9, replicas: ['a', 'x'] });
  await eventually('it is open', () => agent!.hosted(SHARD) !== null);
});

test('a cluster store that is put back under a running node takes nothing from it', async () => {
  const told: KnownAssignment[][] = [];
  const closed: string[] = [];
  await assign(0, { epoch: 6, replicas: ['x', 'y'] });
  const { entries, revision } = await store.list('/q/shards/');
  await assign(0, { epoch: 7 });
  const watches: { prefix: string; listener: (events: StoreEvent[]) => void }[] = [];
  jest.spyOn(store, 'watch').mockImplementation((prefix, _revision, listener) => {
    watches.push({ prefix, listener });
    return () => undefined;
  });
  await start({
    publishLater: (later) => void told.push(later),
    openReplica: async (spec) =>
      ({ ...replicaOf(spec), close: async (reason: string) => void closed.push(reason) }) as unknown as HostedReplica,
  });
  jest
    .spyOn(store, 'list')
    .mockImplementation(async (prefix) => ({ entries: entries.filter(({ key }) => key.startsWith(prefix)), revision }));
  // A store over etcd tells the difference then.
  for (const { prefix, listener } of watches)
    listener(entries.filter(({ key }) => key.startsWith(prefix)).map((entry) => ({ type: 'put', ...entry })));
  await eventually('the node notices', () => (told.at(-1)?.length ?? 0) > 0);
  expect(agent!.hosted(SHARD)).not.toBeNull();
  expect(closed).toEqual([]);
});
