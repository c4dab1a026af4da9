import {
  collectionFromEntry,
  COLLECTIONS_PREFIX,
  collectionPath,
} from '../../coordinator/service/collections/collection-record';
import { ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import {
  reshardFromEntry,
  RESHARDS_PREFIX,
  reshardToValue,
} from '../../coordinator/service/collections/reshard-record';
import type { Resharder } from '../../coordinator/jobs/reshard/resharder';
import { shardOf } from '../../coordinator/service/routing/shard-router';
import { UploadJournal } from '../../coordinator/service/documents/upload-journal';
import type { RunningService } from '../../coordinator/service-factory';
import { KeyValueClusterStore } from '../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../support/models/memory-key-value-store';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import type { ShardClient } from '../../shared/contract/shard/shard-client';
import { systemClock } from '../../shared/base/time/clock';
import { eventually } from '../support/eventually';
import { PlainShardClient } from '../support/shards/plain-shard-client';
import { item, newCollection, plainService } from '../support/shards/plain-service';
import { NO_HURRY, openMemoryStore, openRocksStore, plainFactories, ShardNode } from '../support/shards/shard-node';
import { callsOf } from '../support/stories/shard-calls';
import { fetched } from '../support/http/whole-pages';

/** What happens to a collection when its reshard is interrupted where clients wait for it. */

/** The store, but for the change of a collection's record, which fails as long as `isRefused`. */
function refusing(store: ClusterStore, isRefused: () => boolean): ClusterStore {
  return {
    get: (key) => store.get(key),
    list: (prefix) => store.list(prefix),
    watch: (prefix, after, listener) => store.watch(prefix, after, listener),
    close: async () => undefined,
    transact: async (guards, changes) => {
      const isSwitch =
        changes.length > 1 &&
        changes.some(({ key }) => key.startsWith(COLLECTIONS_PREFIX)) &&
        changes.some(({ key }) => key.startsWith(RESHARDS_PREFIX));
      if (isSwitch && isRefused()) throw new QuiverError('unavailable', 'the process ends here');
      return store.transact(guards, changes);
    },
  };
}

const stateOf = async (service: RunningService, name: string): Promise<string | undefined> =>
  (await service.reshards()).find(({ collection }) => collection === name)?.state;

test('a process that ends when the new shards were opened and the collection does not have them yet: the next start goes on at once', async () => {
  const node = await new ShardNode({ factories: plainFactories, openStore: openRocksStore }).start();
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  let isEnding = true;
  const environment = { REQUEST_TIMEOUT_MS: '3600000' };
  const start = async (): Promise<{ service: RunningService; resharder: Resharder }> => {
    let driven: Promise<Resharder> | null = null;
    const onOpened = async (of: RunningService): Promise<void> =>
      void (await (driven = of.driveReshards(ONLY_DRIVER, 0)));
    const { service } = await plainService({
      store: refusing(store, () => isEnding),
      shardClient: node.client,
      environment,
      onOpened,
    });
    return { service, resharder: await driven! };
  };
  let { service, resharder } = await start();
  try {
    await service.collections.create(newCollection('c', { shards: 2 }));
    await service.vectors.upsert('c', [item('a', [1, 2]), item('b', [3, 4])]);
    await service.collections.reshard('c', 3);
    await eventually('the new shards are to be opened', async () => (await stateOf(service, 'c')) === 'opening');
    await resharder.close();
    service.close();
    await node.restart();
    // Of an upload that the process had begun.
    await new UploadJournal(store).put({
      documentId: 'd',
      collection: 'c',
      owner: 'gone',
      chunksEnd: 10,
      takenBackAtMs: null,
    });

    isEnding = false;
    // No call waits for its deadline, which is beyond that of the test.
    ({ service, resharder } = await start());
    expect(await new UploadJournal(store).list()).toEqual([]);
    await eventually(
      'it has three shards',
      async () => collectionFromEntry((await store.get(collectionPath('c')))!).shards === 3,
    );
    expect(
      (await fetched(service.vectors.fetch('c', ['a', 'b'], { vectors: false }))).map(({ externalId }) => externalId),
    ).toEqual(['a', 'b']);
  } finally {
    await resharder.close();
    service.close();
    await node.destroy();
  }
});

test('a collection whose shards were sealed in vain serves again at once, whatever else is resharded', async () => {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  let closings = 0;
  let slowUid = '';
  let release: () => void = () => undefined;
  const released = new Promise<void>((done) => (release = done));
  let begin: () => void = () => undefined;
  const isOtherBegun = new Promise<void>((done) => (begin = done));
  const shardClient: ShardClient = {
    make: (spec) => node.client.make(spec),
    open: (spec) => node.client.open(spec),
    drop: (id) => node.client.drop(id),
    write: async (id, operations, call) => {
      const result = await node.client.write(id, operations, call);
      const [first] = operations;
      // The answer of the first closing is lost.
      if (first.type === 'stage' && first.stage === 'closed' && closings++ === 0)
        throw new QuiverError('commit_unknown', 'an answer that was lost');
      return result;
    },
    read: async (id, kind, request, call) => {
      // The other collection is large: copying it takes until the end of the test.
      if (kind === 'scan') await (id.collectionUid === slowUid ? released : isOtherBegun);
      return node.client.read(id, kind, request, call);
    },
  };
  const { service, store } = await plainService({ shardClient, environment: { REQUEST_TIMEOUT_MS: '20000' } });
  await service.collections.create(newCollection('large', { shards: 1 }));
  slowUid = collectionFromEntry((await store.get(collectionPath('large')))!).uid;
  await service.collections.create(newCollection('c', { shards: 1 }));
  await service.vectors.upsert('c', [item('a', [1, 2])]);
  await service.collections.reshard('c', 2);
  const resharder = await service.driveReshards(ONLY_DRIVER, 0);
  try {
    await eventually('it is copied', () => node.host.shardCount === 4);
    await service.collections.reshard('large', 2);
    begin();
    await eventually('the shards were sealed in vain', () => closings > 0);
    await eventually('the other one is copied', () => node.host.shardCount === 6);
    await service.vectors.upsert('c', [item('a', [5, 6])]);
    expect(await fetched(service.vectors.fetch('c', ['a'], { vectors: true }))).toMatchObject([
      { vector: Float32Array.of(5, 6) },
    ]);
    release();
    await eventually('both have two shards', async () =>
      (await service.collections.list()).every(({ shards }) => shards === 2),
    );
    expect(await fetched(service.vectors.fetch('c', ['a'], { vectors: true }))).toMatchObject([
      { vector: Float32Array.of(5, 6) },
    ]);
  } finally {
    release();
    await resharder.close();
    service.close();
    await node.destroy();
  }
});

test('an export that meets shards which are closed for a moment gives every item once', async () => {
  const shards = new PlainShardClient({ clock: systemClock });
  let scans = 0;
  const shardClient: ShardClient = {
    ...callsOf(shards),
    read: async (id, kind, request, call) => {
      // The first pages of both shards, and then another one of the same call.
      if (kind === 'scan' && ++scans === 3) throw new QuiverError('resharded', 'closed for a moment');
      return shards.read(id, kind, request, call);
    },
  };
  const { service } = await plainService({ shardClient });
  await service.collections.create(newCollection('c', { shards: 2 }));
  const ids = Array.from({ length: 1000 }, (_, i) => `id-${i}`)
    .filter((id) => shardOf(id, 2) === 0)
    .slice(0, 100);
  for (const id of ids) await service.vectors.upsert('c', [item(id, [1, 2])]);
  const { pages } = await service.vectors.export('c', 100);
  const found: string[] = [];
  for await (const page of pages) found.push(...page.map(({ externalId }) => externalId));
  expect(scans).toBeGreaterThan(3);
  expect(found).toEqual(ids);
  service.close();
});

test('a collection that is deleted while its reshard is stuck takes everything along', async () => {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  let isEnding = true;
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const { service } = await plainService({ store: refusing(store, () => isEnding), shardClient: node.client });
  const resharder = await service.driveReshards(ONLY_DRIVER, 0);
  try {
    await service.collections.create(newCollection('c', { shards: 2 }));
    await service.collections.reshard('c', 3);
    await eventually('the new shards are to be opened', async () => (await stateOf(service, 'c')) === 'opening');
    // As from a backup: the shards know a later term.
    const { entries } = await store.list(RESHARDS_PREFIX);
    const record = reshardFromEntry(entries[0]);
    await store.transact(
      [],
      [{ type: 'put', key: entries[0].key, value: reshardToValue({ ...record, state: 'stuck' }) }],
    );
    isEnding = false;
    await service.collections.delete('c');
    await eventually(
      'nothing is left',
      async () => node.host.shardCount === 0 && (await service.reshards()).length === 0,
    );
  } finally {
    await resharder.close();
    service.close();
    await node.destroy();
  }
});

test('a shard that notes what changes takes a batch of any size', async () => {
  const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore }).start();
  const id = { collectionUid: 'c', shard: 0 };
  try {
    await node.client.make({ ...id, dim: 2, metric: 'cosine' });
    await node.client.write(id, [{ type: 'stage', term: 1, reshard: 'r', stage: 'tracking', forget: 0 }], NO_HURRY);
    // What a replica applies at once of its log when it starts, or is behind.
    const count = 150_000;
    const { outcomes } = await node.client.write(
      id,
      Array.from({ length: count }, (_, i) => ({ type: 'delete' as const, externalId: `${i}` })),
      NO_HURRY,
    );
    expect(outcomes).toHaveLength(count);
    expect(await node.client.read(id, 'transfer', { after: count - 2, limit: 5 }, NO_HURRY)).toMatchObject({
      lastChange: count,
      externalIds: [`${count - 2}`, `${count - 1}`],
    });
  } finally {
    await node.destroy();
  }
});
