import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReplicaOpening } from '../../../../../node/hosting/replicas/replica-opening';
import { ReplicatedShard } from '../../../../../node/hosting/replicas/replicated-shard';
import { ShardStores } from '../../../../../node/hosting/replicas/shard-stores';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { RocksKeyValueStore } from '../../../../../node/engine/kv/rocks-key-value-store';
import type { KeyValueEntry } from '../../../../../node/engine/kv/key-value-store';
import { ITEM_RANGE } from '../../../../../node/engine/records/record-keys';
import { LOG_RANGE } from '../../../../../node/replication/log/log-keys';
import type { ReplicaDependencies } from '../../../../../node/replication/replica';
import { Shard } from '../../../../../node/engine/shard/shard';
import { WriteBudget } from '../../../../../node/engine/shard/writing/write-queue';
import type { ShardAssignment } from '../../../../../shared/cluster-store/entries/shard-assignment';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import { assignmentOf } from '../../../../support/cluster/assignment';
import { leadAndWrite, ledBy, replicaOn, SPEC, started, write } from '../../../../support/cluster/opened-replicas';
import { eventually } from '../../../../support/eventually';
import { plainFactories } from '../../../../support/shards/shard-node';

/** What happens between the opening of a replica's data and the moment at which the node holds it. */

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-opening-'));
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

class DamagedStore extends MemoryKeyValueStore {
  override async verify(): Promise<void> {
    throw new QuiverError('storage_damaged', 'a block does not match its checksum');
  }
}

function openDamaged(
  inSync: ShardAssignment['inSync'],
  { failures, lines }: { failures: Error[]; lines: string[] },
  store: MemoryKeyValueStore = new DamagedStore(),
): Promise<ReplicatedShard> {
  const assignment = assignmentOf({ spec: SPEC, epoch: 3, primary: replicaOn('a'), inSync, replicas: ['a', 'b'] });
  return ReplicatedShard.open({
    folder: join(folder, 'shards', 'c', '0'),
    spec: SPEC,
    assignment,
    self: replicaOn('a'),
    mayBeNew: true,
    changeIdPrefix: '',
    shardOptions: {
      factories: plainFactories,
      openStore: async () => store,
      recallTarget: 0.99,
      buildThreads: 1,
      logger: silentLogger,
    },
    budget: new WriteBudget(),
    clock: systemClock,
    log: { ...silentLogger, error: (_fields, message) => lines.push(message) },
    dependencies: () => ({ onFailed: (error: Error) => failures.push(error) }) as unknown as ReplicaDependencies,
  });
}

test('damage that is found while a replica is being opened is told once it is open, where another has everything', async () => {
  const told = { failures: [] as Error[], lines: [] as string[] };
  const replica = await openDamaged([replicaOn('a'), replicaOn('b')], told);
  await eventually('it is told', () => told.failures.length > 0);
  expect(told).toMatchObject({ failures: [{ kind: 'storage_damaged' }], lines: [] });
  await replica.close('closed');
});

test('a damaged record that a digest meets is told, too', async () => {
  const told = { failures: [] as Error[], lines: [] as string[] };
  const store = new MemoryKeyValueStore();
  const replica = await openDamaged([replicaOn('a'), replicaOn('b')], told, store);
  await store.write([{ type: 'put', key: ITEM_RANGE.from, value: Buffer.from('no record') }]);
  await expect(replica.digest()).rejects.toMatchObject({ kind: 'storage_damaged' });
  await eventually('it is told', () => told.failures.length > 0);
  expect(told).toMatchObject({ failures: [{ kind: 'storage_damaged' }], lines: [] });
  await replica.close('closed');
});

test('the last replica says so and serves what is sound', async () => {
  const told = { failures: [] as Error[], lines: [] as string[] };
  const replica = await openDamaged([replicaOn('a')], told);
  await eventually('it is told', () => told.lines.length > 0);
  expect(told).toEqual({ failures: [], lines: [expect.stringContaining('no other replica is in sync')] });
  await replica.close('closed');
});

test('a replica that was opened and can not be noted is closed, so that it can be opened again', async () => {
  const stores = await ShardStores.load(folder, 'of the node');
  let open = 0;
  const opening = new ReplicaOpening({
    nodeId: 'a',
    stores,
    open: async () => {
      open += 1;
      return { close: async () => void (open -= 1) } as unknown as ReplicatedShard;
    },
    onRenewed: () => undefined,
    log: silentLogger,
  });
  rmSync(join(folder, 'stores'), { recursive: true });
  await expect(opening.open(SPEC, null)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(open).toBe(0);
});

test('an opening that fails while expired items wait to be removed says so, and can be tried again', async () => {
  const expiresAt = Date.now() + 60_000;
  const opened: RocksKeyValueStore[] = [];
  const asked = jest.spyOn(Shard.prototype, 'expired');
  let isDamaged = false;
  const open = (wallMs: () => number): Promise<ReplicatedShard> =>
    ReplicatedShard.open({
      folder: join(folder, 'shards', 'c', '0'),
      spec: SPEC,
      assignment: ledBy('a', []),
      self: replicaOn('a'),
      mayBeNew: true,
      changeIdPrefix: '',
      shardOptions: {
        factories: plainFactories,
        openStore: async (path) => {
          const store = await RocksKeyValueStore.open(path);
          const scan = store.scan.bind(store);
          // The log is read last of all. By then, the removal has to have begun.
          store.scan = (range) => (isDamaged && range.to.equals(LOG_RANGE.to) ? damagedOnceRemoving() : scan(range));
          opened.push(store);
          return store;
        },
        recallTarget: 0.99,
        buildThreads: 1,
        wallMs,
        logger: silentLogger,
      },
      budget: new WriteBudget(),
      clock: systemClock,
      log: silentLogger,
      dependencies: () =>
        ({
          changeAssignment: () => new Promise(() => undefined),
          onFailed: () => undefined,
        }) as unknown as ReplicaDependencies,
    });
  async function* damagedOnceRemoving(): AsyncIterable<KeyValueEntry[]> {
    await eventually('what has expired is asked for', () => asked.mock.calls.length > 0);
    for (let turn = 0; turn < 10; turn += 1) await new Promise((done) => setImmediate(done));
    yield await Promise.reject(new QuiverError('storage_damaged', 'an entry of the log is damaged'));
  }
  const leader = await open(Date.now);
  leader.replica.assigned(ledBy('a', []), 10);
  await write(leader, 1, expiresAt);
  await leader.close('closed');
  isDamaged = true;
  asked.mockClear();
  const later = (): number => expiresAt + 1;
  await expect(open(later)).rejects.toThrow('an entry of the log is damaged');
  isDamaged = false;
  await (await open(later)).close('closed');
  expect(opened).toHaveLength(3);
});

test.each([
  ['folder', (data: string) => rmSync(data, { recursive: true })],
  [
    'content',
    (data: string) => {
      rmSync(data, { recursive: true });
      mkdirSync(join(data, 'records'), { recursive: true });
    },
  ],
])('a shard whose %s is lost is another store, and leads nothing that it led before', async (_what, lose) => {
  await leadAndWrite(folder, ledBy('a', []));
  lose(join(folder, 'shards', 'c', '0'));
  const { stores, open } = await started(folder);
  // Another one is in sync by now; by its word alone a shard of this node alone would lead, empty.
  const back = await open({ ...ledBy('a', ['b']) });
  expect(stores.idOf(SPEC)).not.toBe('store of a');
  expect(back.replica.status()).toMatchObject({ role: 'follower', lastSequence: 0 });
  await back.close('closed');
});

test.each([
  ['in its epoch, while another holds everything', 1, ['b'], true],
  ['in a later epoch', 2, ['b'], false],
  ['while no other is in sync', 1, [], false],
] as const)('a replica that its primary condemned and that is opened %s', async (_when, epoch, others, isRenewed) => {
  const { opening, stores, open } = await started(folder);
  await (await open(ledBy('a', ['b']))).close('closed');
  opening.condemn(SPEC, 1);
  const back = await open({ ...ledBy('a', [...others]), epoch });
  expect(stores.idOf(SPEC) !== 'store of a').toBe(isRenewed);
  await back.close('closed');
  // It hits once at most.
  const store = stores.idOf(SPEC);
  const again = await open({ ...ledBy('a', ['b']), epoch: 1 });
  expect(stores.idOf(SPEC)).toBe(store);
  await again.close('closed');
});

test('damage that is found while a replica is being opened is not forgotten by that', async () => {
  const stores = await ShardStores.load(folder, 'store of a');
  const opening: ReplicaOpening = new ReplicaOpening({
    nodeId: 'a',
    stores,
    onRenewed: () => undefined,
    log: silentLogger,
    open: async () => {
      opening.condemn(SPEC, null);
      return {} as ReplicatedShard;
    },
  });
  await opening.open(SPEC, ledBy('a', ['b']));
  expect(stores.idOf(SPEC)).toBe('store of a');
  await opening.open(SPEC, ledBy('a', ['b']));
  expect(stores.idOf(SPEC)).not.toBe('store of a');
});

describe('a replica that counts as complete and has neither data nor a note of any', () => {
  test.each([
    ['is a new one in a shard that is unused, whatever the epoch', { epoch: 4, unused: true }, false],
    ['has lost them in one that is in use, whatever the epoch', { epoch: 1, unused: false }, true],
    ['has lost them where nothing is said, after the first epoch', { epoch: 2 }, true],
    ['is a new one where nothing is said, in the first epoch', { epoch: 1 }, false],
  ])('%s', async (_what, said, isRenewed) => {
    const { stores, open } = await started(folder);
    const opened = await open({ ...ledBy('b', ['a']), ...said });
    expect(stores.idOf(SPEC) !== 'store of a').toBe(isRenewed);
    await opened.close('closed');
  });
});

test('data that are noted and gone are lost, though the shard is unused', async () => {
  const unused = { ...ledBy('b', ['a']), unused: true };
  await (await (await started(folder)).open(unused)).close('closed');
  rmSync(join(folder, 'shards', 'c', '0'), { recursive: true });
  const { stores, open } = await started(folder);
  const back = await open(unused);
  expect(stores.idOf(SPEC)).not.toBe('store of a');
  await back.close('closed');
});

test('a replica that is promoted before it was ever open leads, and takes a write once its shard is known to be in use', async () => {
  let asked: ShardAssignment | null = null;
  let confirm!: () => void;
  const confirmed = new Promise<void>((done) => (confirm = done));
  const { stores, open } = await started(folder, async ({ assignment: current }) => {
    asked = current;
    await confirmed;
    return { applied: true, current, revision: 11 };
  });
  const leader = await open({ ...ledBy('a', []), epoch: 2, unused: true });
  expect(stores.idOf(SPEC)).toBe('store of a');
  let isWritten = false;
  const written = write(leader, 2).then(() => (isWritten = true));
  await eventually('it asks', () => asked !== null);
  expect(asked).toMatchObject({ epoch: 2, primary: replicaOn('a'), unused: false });
  expect(isWritten).toBe(false);
  expect(leader.replica.status()).toMatchObject({ phase: 'serving', lastSequence: 1 });
  confirm();
  await written;
  await leader.close('closed');
});
