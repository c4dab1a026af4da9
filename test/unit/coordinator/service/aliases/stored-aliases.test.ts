import type { AliasAudience, HeardAlias } from '../../../../../coordinator/service/aliases/stored-aliases';
import { ALIASES_MAX, ALIASES_PATH, aliasesToValue } from '../../../../../coordinator/service/collections/alias-record';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import type { ClusterStore, StoreEvent } from '../../../../../shared/cluster-store/cluster-store';
import { InterceptedClusterStore } from '../../../../support/cluster/intercepted-cluster-store';
import { eventually } from '../../../../support/eventually';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';
import { newCollection, plainService } from '../../../../support/shards/plain-service';

/** A store whose changes are heard of when a test says so, and that can be away. */
class LateStore extends InterceptedClusterStore {
  isAway = false;
  private readonly late: (() => void)[] = [];
  isLate = false;

  override watch(prefix: string, after: number, listener: (events: StoreEvent[]) => void): () => void {
    return super.watch(prefix, after, (events) => {
      if (this.isLate) this.late.push(() => listener(events));
      else listener(events);
    });
  }

  override async list(prefix: string) {
    if (this.isAway) throw new QuiverError('unavailable', 'the store is away');
    return super.list(prefix);
  }

  hear(): void {
    this.isLate = false;
    for (const tell of this.late.splice(0)) tell();
  }
}

const shards = new PlainShardClient();

async function setUp() {
  const inner = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const store = new LateStore(inner);
  let isHeld = true;
  let heard: (HeardAlias | null)[] = [];
  const audience: AliasAudience = { know: async () => undefined, ask: async () => heard };
  const { service } = await plainService({
    store,
    shards,
    aliasTenure: { isHeld: () => isHeld },
    aliasAudience: audience,
  });
  const { service: other } = await plainService({ store: inner, shards });
  for (const name of ['one', 'two']) await service.collections.create(newCollection(name));
  return {
    inner,
    store,
    service,
    other,
    audience,
    lose: () => (isHeld = false),
    hears: (answers: (HeardAlias | null)[]) => (heard = answers),
  };
}

const toOne = { type: 'create', alias: 'a', collection: 'one' } as const;
const toTwo = { type: 'switch', alias: 'a', collection: 'two' } as const;

test('what is known is answered at once, as long as it is certain', async () => {
  const { service } = await setUp();
  expect(service.aliases.names.resolve('a')).toBe('a');
  await service.aliases.change([toOne]);
  expect(service.aliases.names.resolve('a')).toBe('one');
  expect(service.aliases.names.resolve('one')).toBe('one');
});

test('a change whose answer is lost is made once, and answered', async () => {
  const { store, service } = await setUp();
  let lost = 0;
  store.afterTransact = async (changes) => {
    if (changes.some(({ key }) => key === ALIASES_PATH) && lost++ === 0)
      throw new QuiverError('commit_unknown', 'no answer');
  };
  expect(await service.aliases.change([toOne])).toMatchObject([{ alias: 'a', collection: 'one' }]);
  expect(lost).toBe(1);
});

test('of two changes at once neither is lost', async () => {
  const { service, other } = await setUp();
  const created = Array.from({ length: 8 }, (_, i) =>
    (i % 2 === 0 ? service : other).aliases.change([{ type: 'create', alias: `a${i}`, collection: 'one' }]),
  );
  await Promise.all(created);
  expect((await service.aliases.list()).map(({ alias }) => alias)).toEqual(
    Array.from({ length: 8 }, (_, i) => `a${i}`),
  );
});

test('a collection that is deleted meanwhile gets no alias, and one that gets one is not deleted', async () => {
  const { store, service, other } = await setUp();
  store.beforeTransact = async () => {
    store.beforeTransact = async () => undefined;
    await other.collections.delete('one');
  };
  await expect(service.aliases.change([toOne])).rejects.toThrow('"one" does not exist');
  store.beforeTransact = async () => {
    store.beforeTransact = async () => undefined;
    await other.aliases.change([{ ...toOne, collection: 'two' }]);
  };
  await expect(service.collections.delete('two')).rejects.toMatchObject({ kind: 'conflict' });
  expect((await service.collections.get('two')).name).toBe('two');
});

test('a name is given once: to the alias or to the collection that comes first', async () => {
  const { store, service, other } = await setUp();
  const first = (act: () => Promise<unknown>): void => {
    store.beforeTransact = async () => {
      store.beforeTransact = async () => undefined;
      await act();
    };
  };
  first(() => other.collections.create(newCollection('a')));
  await expect(service.aliases.change([toOne])).rejects.toMatchObject({ kind: 'already_exists' });
  first(() => other.aliases.change([{ ...toOne, alias: 'b' }]));
  await expect(service.collections.create(newCollection('b'))).rejects.toThrow('"b" is an alias');
});

test('a change is answered when everybody knows it, this process and the others', async () => {
  const { store, service, audience } = await setUp();
  const steps: string[] = [];
  service.aliases.servedBy(async () => void steps.push('threads'));
  let release = (): void => undefined;
  jest.spyOn(audience, 'know').mockImplementation(async () => {
    steps.push('others');
    await new Promise<void>((done) => (release = done));
  });
  await service.aliases.change([toOne]);
  const changed = service.aliases.settled().then(() => steps.push('answered'));
  await eventually('the others are asked', () => steps.includes('others'));
  expect(steps).toEqual(['threads', 'others']);
  release();
  await changed;
  // What all know is not asked for again.
  await service.aliases.settled();
  expect(steps).toEqual(['threads', 'others', 'answered']);
  // What another process changed is known when the watch has told it.
  store.isLate = true;
  const { revision } = (await store.list(ALIASES_PATH)).entries[0];
  let isKnown = false;
  const known = service.aliases.known(revision + 1).then(() => (isKnown = true));
  await store.transact([], [{ type: 'put', key: ALIASES_PATH, value: aliasesToValue(new Map()) }]);
  expect(isKnown).toBe(false);
  store.hear();
  await known;
  expect(service.aliases.names.resolve('a')).toBe('a');
});

test('a collection gets the name of a deleted alias when nobody takes it for the alias any more', async () => {
  const inner = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const late = new LateStore(inner);
  const { service: other } = await plainService({ store: late, shards });
  let asked = (): void => undefined;
  const know = (revision: number): Promise<void> => {
    asked();
    return other.aliases.known(revision);
  };
  const { service } = await plainService({ store: inner, shards, aliasAudience: { know, ask: async () => [] } });
  await service.collections.create(newCollection('one'));
  await service.aliases.change([toOne]);
  await service.aliases.settled();
  late.isLate = true;
  await service.aliases.change([{ type: 'delete', alias: 'a' }]);
  const isAsked = new Promise<void>((done) => (asked = done));
  const meant = service.collections.create(newCollection('a')).then(() => other.aliases.names.resolve('a'));
  await Promise.race([isAsked, meant]);
  expect(other.aliases.names.resolve('a')).toBe('one');
  await expect(service.collections.get('a')).rejects.toMatchObject({ kind: 'not_found' });
  late.hear();
  expect(await meant).toBe('a');
});

test('a collection is not made where another may take its name for an alias', async () => {
  const { service, audience } = await setUp();
  await service.aliases.change([toOne]);
  await service.aliases.change([{ type: 'delete', alias: 'a' }]);
  jest.spyOn(audience, 'know').mockRejectedValueOnce(new QuiverError('unavailable', 'coordinator b does not answer'));
  await expect(service.collections.create(newCollection('a'))).rejects.toThrow('coordinator b does not answer');
  await expect(service.collections.get('a')).rejects.toMatchObject({ kind: 'not_found' });
  expect((await service.collections.create(newCollection('a'))).name).toBe('a');
});

test('an alias hands on what its mover has, and everybody knows that', async () => {
  const { service, other } = await setUp();
  await service.aliases.change([toOne], { role: 'readwrite', collections: null });
  expect(service.aliases.names.handsOn('a', 'one')).toBe('readwrite');
  await eventually('the other knows it', () => other.aliases.names.known('a') === 'one');
  expect(other.aliases.names.handsOn('a', 'one')).toBe('readwrite');
  await service.aliases.change([toTwo]);
  expect(service.aliases.names.handsOn('a', 'two')).toBe('admin');
  // What is heard from elsewhere is not known here.
  expect(service.aliases.names.handsOn('a', 'elsewhere')).toBe('readwrite');
});

test('there are only so many aliases', async () => {
  const { store, service } = await setUp();
  const record = {
    collection: 'one',
    createdAt: '2026-01-01T00:00:00.000Z',
    switchedAt: null,
    handsOn: 'admin',
  } as const;
  const full = new Map(Array.from({ length: ALIASES_MAX }, (_, i) => [`a${i}`, record]));
  await store.transact([], [{ type: 'put', key: ALIASES_PATH, value: aliasesToValue(full) }]);
  await expect(service.aliases.change([toOne])).rejects.toMatchObject({ kind: 'limit_exceeded' });
  await service.aliases.change([{ type: 'delete', alias: 'a0' }, toOne]);
  // A request with the longest names fits into a message of etcd's.
  const long = new Map(
    Array.from({ length: ALIASES_MAX }, (_, i) => [
      `${i}`.padStart(255, 'x'),
      { ...record, collection: 'y'.repeat(255) },
    ]),
  );
  expect(Buffer.byteLength(aliasesToValue(long))).toBeLessThan(1_400_000);
});

test('what can’t be read is told, and is no alias', async () => {
  const { store, service } = await setUp();
  await service.aliases.change([toOne]);
  await store.transact([], [{ type: 'put', key: ALIASES_PATH, value: '{' }]);
  await eventually('there is none', () => service.aliases.names.resolve('a') === 'a');
  await expect(service.aliases.list()).rejects.toMatchObject({ kind: 'storage_failed' });
  await expect(service.aliases.change([toTwo])).rejects.toMatchObject({ kind: 'storage_failed' });
});

test('aliases wait until every member knows them', async () => {
  const { service } = await plainService({ collectionObstacle: (_, what) => `${what} later` });
  await expect(service.aliases.change([toOne])).rejects.toThrow('collections can have aliases later');
});

describe('what this process is not certain of', () => {
  async function moved() {
    const all = await setUp();
    await all.service.aliases.change([toOne]);
    all.store.isLate = true;
    all.lose();
    await all.other.aliases.change([toTwo]);
    return all;
  }
  const of = (isHeld: boolean, revision: number, collection: string): HeardAlias => ({ isHeld, revision, collection });

  test('the store says', async () => {
    const { service } = await moved();
    await expect(service.aliases.names.resolve('a')).resolves.toBe('two');
  });

  test('a new alias is found, though nothing was heard of it, and a collection is not asked for', async () => {
    const { store, service, other } = await moved();
    await other.aliases.change([{ type: 'create', alias: 'new', collection: 'two' }]);
    await expect(service.aliases.names.resolve('new')).resolves.toBe('two');
    store.listed.length = 0;
    expect(service.aliases.names.resolve('one')).toBe('one');
    // As a thread asks that has met no collection.
    await expect(service.aliases.resolve('one')).resolves.toBe('one');
    expect(store.listed).toEqual([]);
  });

  test('another that is certain says, where the store is away', async () => {
    const { store, service, hears } = await moved();
    store.isAway = true;
    hears([null, of(true, 1_000, 'two')]);
    await expect(service.aliases.names.resolve('a')).resolves.toBe('two');
  });

  test('all say together, where nobody is certain: the store is away for everybody', async () => {
    const { store, service, hears } = await moved();
    store.isAway = true;
    hears([]);
    await expect(service.aliases.names.resolve('a')).resolves.toBe('one');
    hears([of(false, 1, 'earlier')]);
    await expect(service.aliases.names.resolve('a')).resolves.toBe('one');
    // Revisions of a store that was put back are smaller.
    hears([of(false, 1_000, 'earlier'), of(true, 1, 'two')]);
    await expect(service.aliases.names.resolve('a')).resolves.toBe('two');
    // It has the last change, and lost the store after it.
    hears([of(false, 1_000, 'two'), of(false, 1, 'earlier')]);
    await expect(service.aliases.names.resolve('a')).resolves.toBe('two');
  });

  test('is not answered where another may know better', async () => {
    const { store, service, hears } = await moved();
    store.isAway = true;
    hears([of(false, 1_000, 'two'), null]);
    await expect(service.aliases.names.resolve('a')).rejects.toThrow('own name works');
    store.isAway = false;
    await expect(service.aliases.names.resolve('a')).resolves.toBe('two');
  });

  test('is asked of the store once for all that ask before the question is sent', async () => {
    const { store, service } = await moved();
    store.listed.length = 0;
    const answers = Array.from({ length: 20 }, async () => service.aliases.names.resolve('a'));
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['two']));
    expect(store.listed.length).toBeLessThanOrEqual(2);
  });

  test('is told to others as what it is', async () => {
    const { service, lose } = await setUp();
    const [{ alias }] = await service.aliases.change([toOne]);
    expect(service.aliases.tell(alias)).toMatchObject({ isHeld: true, collection: 'one' });
    lose();
    expect(service.aliases.tell('b')).toMatchObject({ isHeld: false, collection: 'b' });
  });
});

test('a store that is put back to before an alias has none', async () => {
  const { store, service } = await setUp();
  const told: number[] = [];
  const end = service.aliases.onChange((pairs) => told.push(pairs.length));
  await service.aliases.change([toOne]);
  await (store as ClusterStore).transact([], [{ type: 'delete', key: ALIASES_PATH }]);
  await eventually('it is gone', () => service.aliases.names.resolve('a') === 'a');
  expect([told[0], told.at(-1)]).toEqual([0, 0]);
  end();
  expect(await service.aliases.list()).toEqual([]);
});

test('a key that is limited to some names has no more aliases than are left for others', async () => {
  const { inner, service } = await setUp();
  const record = { collection: 'one', createdAt: '', switchedAt: null, handsOn: 'admin' } as const;
  const some = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i): [string, typeof record] => [`${prefix}-${i}`, record]);
  const put = (aliases: [string, typeof record][]) =>
    inner.transact([], [{ type: 'put', key: ALIASES_PATH, value: aliasesToValue(new Map(aliases)) }]);
  const caller = { role: 'readwrite', collections: [{ prefix: 't-' }, { name: 'one' }] } as const;
  const create = (alias: string) => service.aliases.change([{ type: 'create', alias, collection: 'one' }], caller);
  await put([...some('t', 900), ...some('other', 199)]);
  await create('t-more');
  await expect(create('t-most')).rejects.toMatchObject({
    kind: 'limit_exceeded',
    message: expect.stringContaining('left for all others'),
  });
  // Others have theirs, and what it has can be moved.
  await service.aliases.change([{ type: 'create', alias: 'third', collection: 'one' }]);
  await service.aliases.change([{ type: 'switch', alias: 't-1', collection: 'one' }], caller);
});
