import { ReadPermit } from '../../../../../node/replication/read-permit';
import { SharedShard } from '../../../../../node/engine/shard/reading/shared-shard';
import { ReplicaPublisher, type ReplicaMessage } from '../../../../../node/hosting/threads/replica-publisher';
import { ReplicaViews } from '../../../../../node/hosting/threads/replica-views';
import { ANY_REPLICA } from '../../../../../shared/contract/shard/shard-client';
import type { VectorSearch, VectorSearchResult } from '../../../../../shared/contract/shard/shard-read';

const ID = { collectionUid: 'c', shard: 0 };
const SEARCH: VectorSearch = {
  vector: Float32Array.of(1),
  k: 1,
  filter: null,
  effort: { type: 'calibrated' },
  texts: false,
};
const RESULT: VectorSearchResult = { hits: [], vectorCount: 0 };

const clocks = { monotonicMs: () => 1_000, bootMs: () => 1_000 };
const search = jest.spyOn(SharedShard.prototype, 'search');
afterAll(() => search.mockRestore());

/** A thread that follows a publisher with one open shard, and what its search does. */
function followed(during: () => void = () => undefined) {
  const publisher = new ReplicaPublisher();
  const views = new ReplicaViews(clocks);
  const messages: ReplicaMessage[] = [];
  publisher.follow((message) => {
    messages.push(message);
    views.take(structuredClone(message));
  });
  views.take({ type: 'opened', key: 'c/0', changes: new SharedArrayBuffer(16), vectors: 1, filters: 1, parts: [] });
  search.mockReset().mockImplementation(() => {
    during();
    return RESULT;
  });
  const permit = new ReadPermit(clocks, clocks);
  return { publisher, views, permit, messages };
}

test('a primary answers whoever asks, a follower only what was meant for any replica', () => {
  const { publisher, views, permit } = followed();
  publisher.permit(ID, permit);
  expect(views.search(ID, SEARCH, 7)).toBeNull();
  permit.set('primary', 7, 2_000);
  expect(views.search(ID, SEARCH, 7)).toEqual({ result: RESULT, isPrimary: true });
  expect(views.search(ID, SEARCH, ANY_REPLICA)).toEqual({ result: RESULT, isPrimary: true });
  permit.set('follower', 7, 2_000);
  expect(views.search(ID, SEARCH, 7)).toBeNull();
  expect(views.search(ID, SEARCH, ANY_REPLICA)).toEqual({ result: RESULT, isPrimary: false });
});

test('what is found while the permit goes does not count, even if another comes', () => {
  const { publisher, views, permit } = followed(() => {
    permit.withdraw();
    permit.set('primary', 8, 2_000);
  });
  publisher.permit(ID, permit);
  permit.set('primary', 7, 2_000);
  expect(views.search(ID, SEARCH, 7)).toBeNull();
  expect(search).toHaveBeenCalledTimes(1);
});

test('nothing is searched without a permit, and none of a replica that is gone counts', () => {
  const { publisher, views, permit } = followed();
  const end = publisher.permit(ID, permit);
  permit.set('primary', 7, 2_000);
  const next = new ReadPermit(clocks, clocks);
  publisher.permit(ID, next);
  expect(views.search(ID, SEARCH, 7)).toBeNull();
  // That of the replica before says nothing about the one that is there now.
  end();
  next.set('primary', 8, 2_000);
  expect(views.search(ID, SEARCH, 8)).not.toBeNull();
  expect(views.search({ ...ID, shard: 1 }, SEARCH, 8)).toBeNull();
});

test('a thread that starts later learns of what is open, and one that ended of nothing more', () => {
  const { publisher, permit } = followed();
  publisher.permit(ID, permit);
  const told: string[] = [];
  const end = publisher.follow(({ type }) => told.push(type));
  expect(told).toEqual(['permitted']);
  end();
  publisher.permit({ ...ID, shard: 1 }, permit)();
  expect(told).toEqual(['permitted']);
});
