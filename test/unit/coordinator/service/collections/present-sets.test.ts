import { countPresent, type CollectionQuota } from '../../../../../coordinator/service/collections/collection-quota';
import {
  collectionPath,
  collectionToValue,
  dropPath,
  dropToValue,
} from '../../../../../coordinator/service/collections/collection-record';
import { presentSets } from '../../../../../coordinator/service/collections/present-sets';
import {
  dropChanges,
  type ReshardRecord,
  type ReshardState,
  reshardPath,
  reshardToValue,
} from '../../../../../coordinator/service/collections/reshard-record';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import type { StoreChange } from '../../../../../shared/cluster-store/cluster-store';

/** What there is, counted while reshards end and collections are deleted. */

const quota: CollectionQuota = {
  collectionsMax: 9,
  shardsOf: ({ shards }) => shards,
  room: () => ({ shardsMax: 99, source: '' }),
};
const collection = (uid: string, shards: number): string =>
  collectionToValue({
    uid,
    identity: 'c',
    name: 'c',
    shards,
    replicas: 1,
    minInSync: 1,
    dim: 2,
    metric: 'cosine',
    description: null,
    language: null,
    quantization: 'int8',
    createdAt: '',
    embeddingModel: null,
    state: 'ready',
  });
const reshard = (state: ReshardState): ReshardRecord => ({
  id: 'r',
  identity: 'c',
  name: 'c',
  from: { uid: 'old', shards: 2 },
  to: { uid: 'new', shards: 4 },
  earlier: [{ uid: 'older', shards: 8 }],
  replicas: 1,
  state,
  term: 1,
  startedAt: '',
  error: null,
  sources: [],
  copied: 0,
  total: 0,
  behind: 0,
});

const ended = (state: ReshardState): StoreChange[] => [
  { type: 'delete', key: reshardPath('c') },
  ...dropChanges(reshard(state)),
];
const deleted = (uid: string, shards: number): StoreChange[] => [
  { type: 'delete', key: collectionPath('c') },
  { type: 'put', key: dropPath(uid), value: dropToValue({ uid, name: 'c', shards, replicas: 1 }) },
];

describe.each<[string, ReshardState, string, number, StoreChange[]]>([
  ['a reshard that is done ends', 'retiring', 'new', 4, ended('retiring')],
  ['a reshard is given up', 'cancelling', 'old', 2, ended('cancelling')],
  ['the collection is deleted', 'filling', 'old', 2, deleted('old', 2)],
])('while %s', (_what, state, uid, shards, changes) => {
  test.each([0, 1, 2, 3])('all of its shards count, whatever was listed before (%i)', async (before) => {
    const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
    await store.transact(
      [],
      [
        { type: 'put', key: collectionPath('c'), value: collection(uid, shards) },
        { type: 'put', key: reshardPath('c'), value: reshardToValue(reshard(state)) },
      ],
    );
    let listed = 0;
    const list = async (prefix: string) => {
      if (listed++ === before) await store.transact([], changes);
      return store.list(prefix);
    };
    expect(countPresent(quota, await presentSets({ list })).taken).toBe(2 + 4 + 8);
    expect(listed).toBe(3);
    await store.close();
  });
});
