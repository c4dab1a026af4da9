import type { SearchRequest } from '../../../../../coordinator/service/search-request';
import { CREATIONS_PATH } from '../../../../../coordinator/service/collections/collection-record';
import type { StoreChange } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { systemClock } from '../../../../../shared/base/time/clock';
import { ManualClock } from '../../../../support/manual-clock';
import { InterceptedClusterStore } from '../../../../support/cluster/intercepted-cluster-store';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';
import { item, newCollection, plainService } from '../../../../support/shards/plain-service';
import { fetched, scrolledPage } from '../../../../support/http/whole-pages';
import { asked, fused, like, listed, nearest } from '../../../../support/stories/search-forms';

const down = (): never => {
  throw new QuiverError('unavailable', 'down');
};

const lost = (): never => {
  throw new QuiverError('commit_unknown', 'the change may or may not have been stored');
};

/** Whether a transaction makes the collection visible. */
const publishes = (changes: StoreChange[]): boolean =>
  changes.some(
    (change) => change.type === 'put' && change.key === '/q/collections/c' && change.value.includes('"ready"'),
  );

/** A service over a store and shards that outlive it, as they outlive a process. */
async function setUp() {
  const store = new InterceptedClusterStore(await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }));
  const shards = new PlainShardClient();
  const start = async () => (await plainService({ store, shards })).service;
  const storedKeys = async (): Promise<string[]> =>
    (await store.list('/q/')).entries
      .map((entry) => entry.key)
      // The secret of cursors is made once, whatever collections there are.
      .filter((key) => key !== CREATIONS_PATH && key !== '/q/cursor-secret');
  return { store, shards, start, storedKeys, service: await start() };
}

/**
 * Stops the next transaction that changes a key under `prefix`: until let go, or for good if its process dies there.
 */
function stopBefore(store: InterceptedClusterStore, prefix: string): { reached: Promise<void>; letGo: () => void } {
  let letGo: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    store.beforeTransact = async (changes) => {
      if (!changes.some((change) => change.key.startsWith(prefix))) return;
      store.beforeTransact = async () => undefined;
      resolve();
      await new Promise<void>((go) => (letGo = go));
    };
  });
  return { reached, letGo: () => letGo() };
}

describe('a collection', () => {
  test('is created empty, shown, listed by name, described and deleted', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 6));
    const { service } = await plainService({ clock, environment: { DEFAULT_SHARDS: '2', DEFAULT_REPLICAS: '3' } });
    const zoo = {
      name: 'zoo',
      dim: 2,
      metric: 'cosine',
      description: null,
      language: null,
      keywordFields: null,
      synonyms: null,
      stopWords: null,
      keywordPositions: true,
      quantization: 'int8',
      metadata: 'memory',
      vectors: 'memory',
      vectorCount: 0,
      unavailableShards: [],
      createdAt: '2026-01-02T03:04:05.006Z',
      shards: 2,
      replicas: 3,
      minInSync: 2,
      ttlSeconds: null,
      embeddingModel: null,
      embedding: null,
      quota: null,
    };
    expect(await service.collections.create(newCollection('zoo'))).toEqual(zoo);
    await service.collections.create({ ...newCollection('ark', { shards: 4 }), description: 'floats', replicas: 1 });
    expect(
      (await service.collections.list()).map(({ name, shards, replicas, description }) => [
        name,
        shards,
        replicas,
        description,
      ]),
    ).toEqual([
      ['ark', 4, 1, 'floats'],
      ['zoo', 2, 3, null],
    ]);
    expect(await service.collections.update('zoo', { description: 'animals' })).toEqual({
      ...zoo,
      description: 'animals',
    });
    expect(await service.collections.get('zoo')).toEqual({ ...zoo, description: 'animals' });
    expect((await service.collections.update('zoo', { description: null })).description).toBeNull();
    await service.collections.delete('zoo');
    expect((await service.collections.list()).map(({ name }) => name)).toEqual(['ark']);
  });

  test('has its metadata on the disk when that is asked for', async () => {
    const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
    const { service, shards } = await plainService({ store });
    const open = jest.spyOn(shards, 'make');
    const onDisk = { ...newCollection('disk'), metadata: 'disk' as const };
    expect((await service.collections.create({ ...newCollection('here'), metadata: 'memory' })).metadata).toBe(
      'memory',
    );
    expect((await service.collections.create(onDisk)).metadata).toBe('disk');
    expect(open.mock.calls.map(([spec]) => spec.metadata)).toEqual([undefined, 'disk']);
    expect((await service.collections.update('disk', { description: 'd' })).metadata).toBe('disk');
    // As it is told after a start, and as others tell it; who knows no choice wrote none.
    const again = (await plainService({ store, shards })).service;
    expect((await again.collections.list()).map(({ name, metadata }) => [name, metadata])).toEqual([
      ['disk', 'disk'],
      ['here', 'memory'],
    ]);
    expect((await store.get('/q/collections/here'))?.value).not.toContain('metadata');
  });

  test('has the index of its vectors on the disk when that is asked for', async () => {
    const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
    const { service, shards } = await plainService({ store });
    const open = jest.spyOn(shards, 'make');
    const onDisk = { ...newCollection('disk'), vectors: 'disk' as const };
    expect((await service.collections.create({ ...newCollection('here'), vectors: 'memory' })).vectors).toBe('memory');
    expect((await service.collections.create(onDisk)).vectors).toBe('disk');
    expect(open.mock.calls.map(([spec]) => spec.vectors)).toEqual([undefined, 'disk']);
    expect((await service.collections.update('disk', { description: 'd' })).vectors).toBe('disk');
    // As it is told after a start, and as others tell it; who knows no choice wrote none.
    const again = (await plainService({ store, shards })).service;
    expect((await again.collections.list()).map(({ name, vectors }) => [name, vectors])).toEqual([
      ['disk', 'disk'],
      ['here', 'memory'],
    ]);
    expect((await store.get('/q/collections/here'))?.value).not.toContain('vectors');
  });

  test('counts what its shards hold', async () => {
    const { service } = await setUp();
    await service.collections.create(newCollection('c', { shards: 3 }));
    await service.vectors.upsert(
      'c',
      Array.from({ length: 20 }, (_, i) => item(`i${i}`, [1, i])),
    );
    await service.vectors.delete('c', ['i3', 'i4']);
    expect((await service.collections.get('c')).vectorCount).toBe(18);
    expect((await service.collections.list())[0].vectorCount).toBe(18);
  });

  test('exists once, however many create it at once', async () => {
    const { service, start, shards } = await setUp();
    const other = await start();
    const outcomes = await Promise.allSettled(
      [service, other, service, other].map((one) => one.collections.create(newCollection('c'))),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({
          kind: 'already_exists',
          code: 409,
          message: 'collection "c" already exists',
        });
    }
    expect(shards.openShards()).toHaveLength(1);
  });

  test('that is missing is named by every call', async () => {
    const { service } = await setUp();
    const vector = Float32Array.of(1, 2);
    const effort = { type: 'calibrated' as const };
    const search = async (request: SearchRequest): Promise<unknown> => service.search.search('nope', request);
    const calls = [
      service.collections.get('nope'),
      service.collections.update('nope', { description: 'x' }),
      service.collections.delete('nope'),
      service.vectors.upsert('nope', []),
      service.vectors.delete('nope', ['a']),
      fetched(service.vectors.fetch('nope', [], { vectors: true })),
      scrolledPage(service.vectors.scroll('nope', { cursor: null, limit: 1, filter: null, vectors: true })),
      service.vectors.export('nope', 1),
      search(nearest({ source: { vector }, k: 1, effort })),
      service.search.searchAll('nope', []),
      search(fused({ queryText: 'x', vector, k: 1, offset: 0, alpha: 0.5, filter: null })),
      search(listed({ source: { vector }, candidates: [] })),
      search(like('a', { k: 1, offset: 0, filter: null })),
      service.search.similarity('nope', 'a', 'b'),
      search(asked({ text: 'x', k: 1, filter: null })),
    ];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { kind: 'not_found', message: 'collection "nope" does not exist' },
      });
    }
  });

  test('made, changed and deleted through one coordinator is so through the others', async () => {
    const { service, start } = await setUp();
    const other = await start();
    await service.collections.create(newCollection('c'));
    await other.vectors.upsert('c', [item('a', [1, 0])]);
    await other.collections.update('c', { description: 'from the other' });
    expect((await service.collections.get('c')).description).toBe('from the other');
    await service.collections.delete('c');
    await expect(other.vectors.upsert('c', [item('a', [1, 0])])).rejects.toMatchObject({ kind: 'not_found' });
    await other.collections.create(newCollection('c'));
    expect(await fetched(service.vectors.fetch('c', ['a'], { vectors: false }))).toEqual([]);
  });

  test('is shown without a count, and with the shard and why, while one of its shards is out of reach; else it is not partly answered', async () => {
    const { service, shards } = await setUp();
    await service.collections.create(newCollection('c', { shards: 3 }));
    shards.intercept = (_, id) => (id.shard === 1 ? down() : undefined);
    const refusal = {
      kind: 'unavailable',
      message: 'shard 1 of 3 of collection "c" is unavailable; the call may be retried',
    };
    const request = {
      source: { vector: Float32Array.of(1, 0) },
      k: 1,
      offset: 0,
      filter: null,
      effort: { type: 'calibrated' as const },
    };
    const shown = { name: 'c', vectorCount: -1, unavailableShards: [{ shard: 1, reason: refusal.message }] };
    expect(await service.collections.get('c')).toMatchObject(shown);
    expect(await service.collections.list()).toMatchObject([shown]);
    expect(await service.collections.update('c', { description: 'changed' })).toMatchObject({
      ...shown,
      description: 'changed',
    });
    await expect(service.collections.stats('c')).rejects.toMatchObject(refusal);
    await expect(service.search.search('c', nearest(request))).rejects.toMatchObject(refusal);
    await expect(
      service.search.search('c', fused({ ...request, queryText: 'x', vector: request.source.vector, alpha: 0 })),
    ).rejects.toMatchObject(refusal);
    await expect(
      scrolledPage(service.vectors.scroll('c', { cursor: null, limit: 5, filter: null, vectors: false })),
    ).rejects.toMatchObject(refusal);
    const states = (await service.readShards()).map(({ collection, shard, status }) => [
      collection,
      shard,
      status?.vectorCount ?? 'missing',
    ]);
    expect(states).toEqual([
      ['c', 0, 0],
      ['c', 1, 'missing'],
      ['c', 2, 0],
    ]);
  });
});

describe('delete and create again', () => {
  test('gives an empty collection at once, though the old shards are still being dropped', async () => {
    const { service, shards, storedKeys } = await setUp();
    await service.collections.create(newCollection('c'));
    await service.vectors.upsert('c', [item('a', [1, 0])]);
    let drop: () => void = () => undefined;
    shards.intercept = (call) => (call === 'drop' ? new Promise<void>((resolve) => (drop = resolve)) : undefined);
    const deletion = service.collections.delete('c');
    while ((await storedKeys()).includes('/q/collections/c')) await new Promise((resolve) => setImmediate(resolve));
    await expect(service.collections.get('c')).rejects.toMatchObject({ kind: 'not_found' });
    const again = await service.collections.create(newCollection('c', { dim: 5 }));
    expect([again.dim, again.vectorCount]).toEqual([5, 0]);
    drop();
    await deletion;
    expect(shards.openShards().map(({ dim }) => dim)).toEqual([5]);
    expect(await storedKeys()).toEqual(['/q/collections/c']);
  });

  test('a write in flight to the old collection never lands in the new one', async () => {
    const { service, shards } = await setUp();
    await service.collections.create(newCollection('c'));
    let write: () => void = () => undefined;
    shards.intercept = (call) => (call === 'write' ? new Promise<void>((resolve) => (write = resolve)) : undefined);
    const inFlight = service.vectors.upsert('c', [item('a', [1, 0])]);
    inFlight.catch(() => undefined);
    shards.intercept = undefined;
    await service.collections.delete('c');
    await service.collections.create(newCollection('c'));
    write();
    await expect(inFlight).rejects.toMatchObject({ kind: 'not_found', message: 'collection "c" does not exist' });
    expect((await service.collections.get('c')).vectorCount).toBe(0);
  });

  test('a search in flight says that the collection is gone', async () => {
    const { service, shards } = await setUp();
    await service.collections.create(newCollection('c', { shards: 3 }));
    const held: (() => void)[] = [];
    shards.intercept = (call) => (call === 'search' ? new Promise<void>((resolve) => held.push(resolve)) : undefined);
    const inFlight = Promise.resolve(service.search.search('c', asked({ text: 'x', k: 3 })));
    inFlight.catch(() => undefined);
    while (held.length < 3) await new Promise((resolve) => setImmediate(resolve));
    await service.collections.delete('c');
    for (const release of held) release();
    await expect(inFlight).rejects.toMatchObject({ kind: 'not_found', message: 'collection "c" does not exist' });
  });

  test('races of creating, writing and deleting end in a collection that is whole or gone', async () => {
    const { service, start, shards, storedKeys } = await setUp();
    const services = [service, await start()];
    await Promise.all(
      Array.from({ length: 90 }, async (_, i) => {
        const one = services[i % 2];
        const step = [
          () => one.collections.create(newCollection('c', { shards: 2 })),
          () => one.vectors.upsert('c', [item(`a${i}`, [1, 0]), item(`b${i}`, [1, 1])]),
          () => one.collections.delete('c'),
        ][i % 3];
        await step().catch((error: unknown) =>
          expect(error).toMatchObject({ kind: expect.stringMatching(/^(not_found|already_exists)$/) }),
        );
      }),
    );
    await service.collections.delete('c').catch(() => undefined);
    expect(shards.openShards()).toEqual([]);
    expect(await storedKeys()).toEqual([]);
  });
});

describe('a creation whose answer from the store is lost', () => {
  test('on its reservation goes on', async () => {
    const { store, shards, service, storedKeys } = await setUp();
    store.afterTransact = async (changes) => {
      store.afterTransact = async () => undefined;
      if (changes.some(({ key }) => key === '/q/collections/c')) lost();
    };
    expect((await service.collections.create(newCollection('c'))).name).toBe('c');
    await expect(service.collections.create(newCollection('c'))).rejects.toMatchObject({ kind: 'already_exists' });
    expect(shards.openShards()).toHaveLength(1);
    expect(await storedKeys()).toEqual(['/q/collections/c']);
  });

  test('when it is visible already keeps what others wrote meanwhile', async () => {
    const { store, start, service } = await setUp();
    const other = await start();
    store.afterTransact = async (changes) => {
      if (!publishes(changes)) return;
      await other.vectors.upsert('c', [item('a', [1, 0])]);
      lost();
    };
    expect((await service.collections.create(newCollection('c'))).name).toBe('c');
    expect((await other.collections.get('c')).vectorCount).toBe(1);
  });

  test('and cannot be asked for again is of unknown outcome, and keeps what others wrote', async () => {
    const { store, start, service } = await setUp();
    const other = await start();
    const get = store.get.bind(store);
    store.afterTransact = async (changes) => {
      if (!publishes(changes)) return;
      await other.vectors.upsert('c', [item('a', [1, 0])]);
      store.get = async () => down();
      lost();
    };
    await expect(service.collections.create(newCollection('c'))).rejects.toMatchObject({ kind: 'commit_unknown' });
    store.get = get;
    expect((await (await start()).collections.get('c')).vectorCount).toBe(1);
  });

  test('because it arrives late is taken back or whole, whichever the store carries out first', async () => {
    for (const isLast of [true, false]) {
      const { store, shards, start, service, storedKeys } = await setUp();
      let late: () => Promise<unknown> = async () => undefined;
      const [transact, get] = [store.transact.bind(store), store.get.bind(store)];
      store.transact = async (guards, changes) => {
        if (!publishes(changes)) return transact(guards, changes);
        late = () => transact(guards, changes);
        store.get = async () => {
          store.get = get;
          return down();
        };
        return lost();
      };
      const other = await start();
      store.beforeTransact = async (changes) => {
        if (isLast || !changes.some(({ type, key }) => type === 'delete' && key === '/q/collections/c')) return;
        store.beforeTransact = async () => undefined;
        await late();
        await other.vectors.upsert('c', [item('a', [1, 0])]);
      };
      const [outcome] = await Promise.allSettled([service.collections.create(newCollection('c'))]);
      await late();
      if (isLast) {
        expect(outcome).toMatchObject({ status: 'rejected' });
        expect([await storedKeys(), shards.openShards()]).toEqual([[], []]);
      } else {
        expect(outcome).toMatchObject({ status: 'fulfilled' });
        expect((await other.collections.get('c')).vectorCount).toBe(1);
      }
    }
  });
});

describe('after a crash', () => {
  test('a creation cut short before it is visible leaves nothing', async () => {
    const { shards, start, storedKeys, service } = await setUp();
    const endings: (() => void)[] = [];
    shards.intercept = (call) =>
      call === 'open'
        ? new Promise((_, reject) => endings.push(() => reject(new QuiverError('unavailable', 'ended'))))
        : undefined;
    const creation = service.collections.create(newCollection('c', { shards: 2 }));
    creation.catch(() => undefined);
    while (endings.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await expect(service.collections.get('c')).rejects.toMatchObject({ kind: 'not_found' });
    expect(await service.collections.list()).toEqual([]);

    shards.intercept = undefined;
    const restarted = await start();
    expect(await storedKeys()).toEqual([]);
    await restarted.collections.create(newCollection('c'));
    for (const end of endings) end();
    await expect(creation).rejects.toMatchObject({ kind: 'unavailable' });
    expect((await restarted.collections.get('c')).shards).toBe(1);
    expect(shards.openShards()).toHaveLength(1);
  });

  test('a creation that failed half-way and could not be taken back leaves nothing', async () => {
    const { store, shards, start, storedKeys, service } = await setUp();
    shards.intercept = (_, id) => (id.shard === 1 ? down() : undefined);
    store.beforeTransact = async (changes) => (changes.some((change) => change.type === 'delete') ? down() : undefined);
    await expect(service.collections.create(newCollection('c', { shards: 2 }))).rejects.toMatchObject({
      kind: 'unavailable',
    });
    await expect(service.collections.get('c')).rejects.toMatchObject({ kind: 'not_found' });
    expect(shards.openShards()).toHaveLength(1);

    shards.intercept = undefined;
    store.beforeTransact = async () => undefined;
    const restarted = await start();
    expect(await storedKeys()).toEqual([]);
    expect(shards.openShards()).toEqual([]);
    await restarted.collections.create(newCollection('c'));
  });

  test('a creation whose reservation a starting coordinator took away fails and leaves nothing', async () => {
    const { store, shards, start, storedKeys, service } = await setUp();
    let reservedAlready = false;
    let publish: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => {
      store.beforeTransact = async (changes) => {
        if (!changes.some((change) => change.key === '/q/collections/c')) return;
        if (!reservedAlready) {
          reservedAlready = true;
          return;
        }
        store.beforeTransact = async () => undefined;
        resolve();
        await new Promise<void>((go) => (publish = go));
      };
    });
    const creation = service.collections.create(newCollection('c'));
    creation.catch(() => undefined);
    await reached;
    await start();
    publish();
    await expect(creation).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('may be retried'),
    });
    expect(shards.openShards()).toEqual([]);
    expect(await storedKeys()).toEqual([]);
  });

  test('a deletion cut short is finished', async () => {
    const { store, shards, start, storedKeys, service } = await setUp();
    await service.collections.create(newCollection('c', { shards: 2 }));
    const stop = stopBefore(store, '/q/collection-drops/');
    const cut = service.collections.delete('c');
    await stop.reached;
    // Not decided yet: the collection is whole.
    expect((await service.collections.get('c')).shards).toBe(2);
    shards.intercept = (call) => (call === 'drop' ? down() : undefined);
    stop.letGo();
    await cut;
    await expect(service.collections.get('c')).rejects.toMatchObject({ kind: 'not_found' });
    expect(shards.openShards()).toHaveLength(2);

    shards.intercept = undefined;
    await start();
    expect(shards.openShards()).toEqual([]);
    expect(await storedKeys()).toEqual([]);
  });

  test('collections are opened again and stamps go on above theirs', async () => {
    const { store, shards, service } = await setUp();
    await service.collections.create(newCollection('c', { shards: 3 }));
    await service.vectors.upsert(
      'c',
      ['x', 'y', 'z'].map((id) => item(id, [1, 0])),
    );
    const opened: number[] = [];
    shards.intercept = (call, id) => void (call === 'open' && opened.push(id.shard));
    const yearsBehind = { wallMs: () => Date.UTC(2021, 0, 1), monotonicMs: () => systemClock.monotonicMs() };
    const restarted = await plainService({ store, shards, clock: yearsBehind });
    expect(opened.sort((a, b) => a - b)).toEqual([0, 1, 2]);
    await restarted.service.vectors.upsert('c', [item('a', [1, 0])]);
    const { vectors } = await scrolledPage(
      restarted.service.vectors.scroll('c', { cursor: null, limit: 10, filter: null, vectors: false }),
    );
    expect(vectors.map(({ externalId }) => externalId)).toEqual(['x', 'y', 'z', 'a']);
  });

  test('a collection whose shard is out of reach does not keep the others from serving', async () => {
    const { shards, start, service } = await setUp();
    await service.collections.create(newCollection('good'));
    await service.collections.create(newCollection('bad'));
    const [bad] = shards.openShards().slice(-1);
    shards.intercept = (_, id) => (id.collectionUid === bad.collectionUid ? down() : undefined);
    const restarted = await start();
    expect((await restarted.collections.get('good')).name).toBe('good');
    expect(await restarted.collections.list()).toMatchObject([
      { name: 'bad', vectorCount: -1 },
      { name: 'good', vectorCount: 0 },
    ]);
  });
});
