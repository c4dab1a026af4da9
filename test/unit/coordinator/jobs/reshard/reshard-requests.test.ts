import type { CollectionQuota } from '../../../../../coordinator/service/collections/collection-quota';
import { collectionPath, collectionToValue } from '../../../../../coordinator/service/collections/collection-record';
import {
  reshardFromEntry,
  reshardPath,
  type ReshardRecord,
  type ReshardState,
  reshardToValue,
} from '../../../../../coordinator/service/collections/reshard-record';
import { ReshardRequests } from '../../../../../coordinator/jobs/reshard/reshard-requests';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import type { ShardClient } from '../../../../../shared/contract/shard/shard-client';
import { ManualClock } from '../../../../support/manual-clock';

/** Requests for reshards beside those that are under way. */

const quota: CollectionQuota = {
  collectionsMax: 9,
  shardsOf: ({ shards }) => shards,
  room: () => ({ shardsMax: 99, source: '' }),
};
const KEY = reshardPath('c');

let store: KeyValueClusterStore;
/** The term that shards have seen, and what happens when they are asked for it. */
let term: number;
let asked: () => Promise<void>;
let requests: ReshardRequests;

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  term = 0;
  asked = async () => undefined;
  const read = async (): Promise<unknown> => {
    const seen = { stage: 'open', term };
    await asked();
    return seen;
  };
  requests = new ReshardRequests({
    store,
    shards: { read } as unknown as ShardClient,
    clock: new ManualClock(),
    quota,
  });
  const rest = {
    dim: 2,
    metric: 'cosine',
    description: null,
    language: null,
    quantization: 'int8',
    createdAt: '',
    embeddingModel: null,
    state: 'ready',
  } as const;
  await store.transact(
    [],
    [
      {
        type: 'put',
        key: collectionPath('c'),
        value: collectionToValue({ uid: 'c', identity: 'c', name: 'c', shards: 1, replicas: 1, minInSync: 1, ...rest }),
      },
    ],
  );
});
afterEach(() => store.close());

/** The one that is under way is given up: its shards are open again, in a later term, and nothing is left of it. */
async function giveUp(): Promise<void> {
  term = 3;
  await store.transact([], [{ type: 'delete', key: KEY }]);
}

async function termOfWhatBegan(): Promise<number> {
  return reshardFromEntry((await store.get(KEY))!).term;
}

test('one that is under way when another is asked for counts, though it is given up meanwhile', async () => {
  await requests.begin('c', 2);
  asked = giveUp;
  await expect(requests.begin('c', 3)).rejects.toMatchObject({ kind: 'already_exists' });
});

test('one that begins and is given up after another was asked for is noticed', async () => {
  asked = async () => {
    asked = async () => undefined;
    await requests.begin('c', 2);
    await giveUp();
  };
  await requests.begin('c', 3);
  expect(await termOfWhatBegan()).toBe(4);
});

test.each<[ReshardState, number]>([
  ['filling', 0.3],
  ['sealing', 1],
  ['retiring', 1],
  ['cancelling', 0.3],
  ['failed', 0.3],
])('the share that is shown of one that is %s is what was copied', async (state, fraction) => {
  await requests.begin('c', 2);
  const record = reshardFromEntry((await store.get(KEY))!);
  await store.transact(
    [],
    [{ type: 'put', key: KEY, value: reshardToValue({ ...record, state, copied: 3, total: 10 }) }],
  );
  expect(await requests.list()).toMatchObject([{ state, fraction, copied: 3, total: 10 }]);
});

test('a shard that can not be asked is named with its collection', async () => {
  asked = async () => {
    throw new QuiverError('storage_failed', 'the shard can not be opened');
  };
  await expect(requests.begin('c', 2)).rejects.toMatchObject({
    kind: 'storage_failed',
    message: 'shard 0 of collection "c": the shard can not be opened',
  });
});

test('what a reshard waits for is shown: what it met last, or the one that is copied before it', async () => {
  await requests.begin('c', 2);
  const record = reshardFromEntry((await store.get(KEY))!);
  const put = (key: string, change: Partial<ReshardRecord>) =>
    store.transact([], [{ type: 'put', key, value: reshardToValue({ ...record, ...change }) }]);
  const shown = async () => (await requests.list()).map(({ collection, waitsFor }) => [collection, waitsFor]);
  expect(await shown()).toEqual([['c', null]]);
  await put(reshardPath('b'), { name: 'b', sources: [{ ...record.sources[0], since: 1 }] });
  expect(await shown()).toEqual([
    ['b', null],
    ['c', 'the shards of collection "b", which are copied first'],
  ]);
  await put(KEY, { waitsFor: 'a disk' });
  expect((await shown())[1]).toEqual(['c', 'a disk']);
  await put(KEY, { waitsFor: 'a disk', state: 'failed', error: 'no room' });
  expect((await shown())[1]).toEqual(['c', null]);
});
