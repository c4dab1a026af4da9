import { InlineShards } from '../../../embedded/inline-shards';
import { withProfiles } from '../../../coordinator/service/routing/profiled-shards';
import type { ShardClient } from '../../../shared/contract/shard/shard-client';
import type { VectorSearch, VectorSearchResult } from '../../../shared/contract/shard/shard-read';

const ID = { collectionUid: 'u', shard: 0 };
const CALL = { deadlineMs: Infinity };
const SEARCH = { vector: new Float32Array(2), k: 1 } as unknown as VectorSearch;
const ANSWER: VectorSearchResult = { hits: [], vectorCount: 7 };

function shardsWith({ tookMs = 0, found = ANSWER as VectorSearchResult | null } = {}) {
  let nowMs = 0;
  const asked: string[] = [];
  const shards: ShardClient = {
    make: async () => void asked.push('make'),
    open: async () => void asked.push('open'),
    drop: async () => void asked.push('drop'),
    write: async () => {
      asked.push('write');
      return { outcomes: [], firstVersion: 0, present: [] };
    },
    read: async (_id, kind) => {
      asked.push(kind);
      return ANSWER as never;
    },
  };
  const inline = {
    search: () => {
      nowMs += tookMs;
      return found;
    },
  };
  return {
    shards: new InlineShards({ shards, inline, clock: { monotonicMs: () => nowMs, wallMs: () => nowMs } as never }),
    asked,
  };
}

test('a search is answered where it is asked; all else by the shards', async () => {
  const { shards, asked } = shardsWith();
  expect(shards.searchNow(ID, SEARCH)).toBe(ANSWER);
  expect(asked).toEqual([]);
  await shards.make({ ...ID } as never);
  await shards.open({ ...ID } as never);
  await shards.write(ID, [], CALL);
  await shards.read(ID, 'search', SEARCH as never, CALL);
  await shards.read(ID, 'count', {} as never, CALL);
  await shards.drop(ID);
  expect(asked).toEqual(['make', 'open', 'write', 'search', 'count', 'drop']);
});

test('what is not for the thread that serves is left to the shards', () => {
  expect(shardsWith({ found: null }).shards.searchNow(ID, SEARCH)).toBeNull();
});

test('searches of one round of the event loop have a bound, and the next round begins anew', async () => {
  const { shards } = shardsWith({ tookMs: 5 });
  expect([shards.searchNow(ID, SEARCH), shards.searchNow(ID, SEARCH), shards.searchNow(ID, SEARCH)]).toEqual([
    ANSWER,
    ANSWER,
    null,
  ]);
  await new Promise((next) => setImmediate(next));
  await new Promise((next) => setImmediate(next));
  expect(shards.searchNow(ID, SEARCH)).toBe(ANSWER);
});

test('a service searches at once where its shards can, and only there', () => {
  const { shards } = shardsWith();
  expect(withProfiles(shards).searchNow?.(ID, SEARCH, CALL)).toBe(ANSWER);
  const { make, open, drop, write, read } = shards;
  expect(withProfiles({ make, open, drop, write, read }).searchNow).toBeUndefined();
});
