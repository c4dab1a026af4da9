import { KeyValueClusterStore } from '../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../support/models/memory-key-value-store';
import type { ClusterStore, StoreEvent } from '../../../../shared/cluster-store/cluster-store';
import { SealedClusterStore, type SealRule } from '../../../../shared/cluster-store/sealed-cluster-store';
import { silentLogger } from '../../../../shared/base/logs/logger';
import { EntrySeal } from '../../../../shared/base/secret/entry-seal';
import { eventually } from '../../../support/eventually';

/** What somebody can do to a cluster's members who can write to their store and does not know their secret. */

const OLD = 'the secret of yesterday';
const NEW = 'the secret of tomorrow';

let bare: ClusterStore;
let told: Record<string, unknown>[];
let counted: number;

beforeEach(async () => {
  bare = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  told = [];
  counted = 0;
});

function sealed(options: { secret?: string; otherSecret?: string; rule?: SealRule } = {}): SealedClusterStore {
  const { secret = OLD, otherSecret, rule = 'required' } = options;
  const log = { ...silentLogger, error: (fields: Readonly<Record<string, unknown>>) => void told.push(fields) };
  return new SealedClusterStore({
    store: bare as never,
    seal: new EntrySeal({ secret, otherSecret }),
    rule,
    log,
    onRefused: () => (counted += 1),
  });
}

const put = (store: ClusterStore, key: string, value: string) => store.transact([], [{ type: 'put', key, value }]);
const valueAt = async (store: ClusterStore, key: string): Promise<string | undefined> => (await store.get(key))?.value;

describe('an entry that no member made', () => {
  test('counts as absent in every answer, and is told of once', async () => {
    const store = sealed();
    await put(store, '/q/keys/1', 'one');
    await put(bare, '/q/keys/2', '{"role":"admin"}');
    await put(bare, '/q/keys/3', (await bare.get('/q/keys/1'))!.value);
    for (let i = 0; i < 3; i += 1) {
      expect((await store.list('/q/')).entries.map(({ key, value }) => [key, value])).toEqual([['/q/keys/1', 'one']]);
      expect(await store.get('/q/keys/2')).toBeNull();
      expect(await store.get('/q/keys/3')).toBeNull();
    }
    expect(told).toMatchObject([
      { entry: '/q/keys/2', seal: 'unsealed' },
      { entry: '/q/keys/3', seal: 'forged' },
    ]);
    expect(counted).toBe(2);
  });

  test('is told of again when it is another one', async () => {
    const store = sealed();
    for (const value of ['a', 'b']) {
      await put(bare, '/q/keys/2', value);
      await store.list('/q/');
    }
    expect(counted).toBe(2);
  });

  test('in the place of a good one, is its deletion to those who watch', async () => {
    const store = sealed();
    const events: StoreEvent[] = [];
    await put(store, '/q/nodes/a', 'here');
    store.watch('/q/nodes/', (await bare.list('')).revision, (some) => events.push(...some));
    await put(bare, '/q/nodes/a', 'there');
    await put(store, '/q/nodes/b', 'here');
    await eventually('both are told', () => events.length === 2);
    expect(events).toMatchObject([
      { type: 'delete', key: '/q/nodes/a' },
      { type: 'put', key: '/q/nodes/b', value: 'here' },
    ]);
  });

  test("is in nobody's way", async () => {
    const store = sealed();
    await put(bare, '/q/keys/1', 'forged');
    await put(bare, '/q/keys/2', 'forged');
    const guards = [
      { key: '/q/keys/1', revision: 0 },
      { key: '/q/keys/2', revision: 0 },
    ];
    const changes = guards.map(({ key }) => ({ type: 'put' as const, key, value: 'good' }));
    expect(await store.transact(guards, changes)).toMatchObject({ applied: true });
    expect(await valueAt(store, '/q/keys/1')).toBe('good');
    expect(await store.transact(guards, changes)).toMatchObject({
      applied: false,
      current: [{ value: 'good' }, { value: 'good' }],
    });
  });

  test('is no good entry that a change can be decided on', async () => {
    const store = sealed();
    await put(store, '/q/keys/1', 'good');
    const { revision } = (await store.get('/q/keys/1'))!;
    await put(bare, '/q/keys/1', 'forged');
    expect(
      await store.transact([{ key: '/q/keys/1', revision }], [{ type: 'put', key: '/q/keys/1', value: 'next' }]),
    ).toEqual({ applied: false, current: [null] });
    expect(await valueAt(bare, '/q/keys/1')).toBe('forged');
  });
});

describe('a start', () => {
  const begin = (store: SealedClusterStore): Promise<void> =>
    store.mustBeOurs('/q/', (key) => key.startsWith('/q/shards/'));

  test('on an empty store, and on one of its own, whatever else was put there', async () => {
    await begin(sealed());
    await put(sealed(), '/q/keys/1', 'one');
    await put(bare, '/q/keys/2', 'forged');
    await begin(sealed());
    await begin(sealed({ secret: NEW, otherSecret: OLD }));
  });

  test("is refused on another cluster's, which would be written over", async () => {
    await put(sealed(), '/q/keys/1', 'one');
    for (const rule of ['required', 'adopt'] as const) {
      await expect(begin(sealed({ secret: NEW, rule }))).rejects.toMatchObject({
        kind: 'invalid_parameter',
        message: expect.stringContaining('CLUSTER_SECRET is not that of this cluster'),
      });
    }
  });

  test('is refused while an assignment is sealed under a secret that was given up too early', async () => {
    await put(sealed(), '/q/shards/u/0', 'old');
    await put(sealed({ secret: NEW }), '/q/keys/1', 'one');
    await put(sealed(), '/q/keys/2', 'two');
    await expect(begin(sealed({ secret: NEW }))).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringMatching(/^\/q\/shards\/u\/0 .*CLUSTER_SECRET_OTHER/),
    });
    await begin(sealed({ secret: NEW, otherSecret: OLD }));
    await put(sealed({ secret: NEW }), '/q/shards/u/0', 'new');
    await begin(sealed({ secret: NEW }));
  });

  test("is refused on an earlier version's, until that is to be adopted", async () => {
    await put(bare, '/q/keys/1', 'one');
    await expect(begin(sealed())).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringContaining('CLUSTER_SEALS=adopt'),
    });
    await begin(sealed({ rule: 'adopt' }));
  });
});

describe('sealing what is there', () => {
  const isOfSession = (key: string): boolean => key.startsWith('/q/nodes/');
  const seal = (store: SealedClusterStore): Promise<number> => store.sealAll('/q/', isOfSession);

  test('adopts entries without seals, all of them, and never those of sessions or with wrong seals', async () => {
    for (let i = 0; i < 100; i += 1) await put(bare, `/q/keys/${i}`, `key ${i}`);
    for (let i = 0; i < 3; i += 1) await put(bare, `/q/large/${i}`, 'x'.repeat(400_000));
    await put(bare, '/q/nodes/a', 'here');
    await put(bare, '/q/keys/x', new EntrySeal({ secret: NEW }).close('/q/keys/x', 'forged'));
    const adopting = sealed({ rule: 'adopt' });
    expect(await valueAt(adopting, '/q/keys/7')).toBe('key 7');
    const transact = jest.spyOn(bare, 'transact');
    expect(await seal(adopting)).toBe(103);
    // Within etcd's limits of a request.
    for (const [, changes] of transact.mock.calls)
      expect(
        changes.reduce((length, change) => length + (change.type === 'put' ? change.value.length : 0), 0),
      ).toBeLessThan(1024 * 1024);
    jest.restoreAllMocks();
    const store = sealed();
    expect((await store.list('/q/keys/')).entries).toHaveLength(100);
    expect(await valueAt(store, '/q/keys/99')).toBe('key 99');
    expect(await valueAt(bare, '/q/nodes/a')).toBe('here');
    expect(await seal(adopting)).toBe(0);
  });

  test('leaves entries without seals alone where a seal is required', async () => {
    await put(bare, '/q/keys/1', 'one');
    expect(await seal(sealed())).toBe(0);
    expect(await valueAt(bare, '/q/keys/1')).toBe('one');
  });

  test('brings entries from one secret to the next, members of both reading them all along', async () => {
    await put(sealed(), '/q/keys/1', 'one');
    const first = sealed({ secret: OLD, otherSecret: NEW });
    const second = sealed({ secret: NEW, otherSecret: OLD });
    expect(await seal(first)).toBe(0);
    expect(await seal(second)).toBe(1);
    expect(await valueAt(first, '/q/keys/1')).toBe('one');
    expect(await valueAt(sealed({ secret: NEW }), '/q/keys/1')).toBe('one');
    expect(await valueAt(sealed(), '/q/keys/1')).toBeUndefined();
  });

  test('does not undo a change that is made meanwhile', async () => {
    for (const i of [1, 2, 3]) await put(bare, `/q/keys/${i}`, 'before');
    const adopting = sealed({ rule: 'adopt' });
    const { list } = bare;
    bare.list = async (prefix) => {
      const listed = await list.call(bare, prefix);
      await put(adopting, '/q/keys/2', 'after');
      return listed;
    };
    expect(await seal(adopting)).toBe(2);
    bare.list = list;
    expect((await sealed().list('/q/')).entries.map(({ value }) => value)).toEqual(['before', 'after', 'before']);
  });
});
