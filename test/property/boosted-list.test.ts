import { MemoryFilterIndex } from '../../node/engine/filter/memory-filter-index';
import { BoostedList } from '../../node/engine/shard/reading/boosted-list';
import { boostedParts, readBoosted } from '../../node/engine/shard/reading/boosted-search';
import { KeptParts } from '../../node/engine/shard/reading/kept-parts';
import { ListParts } from '../../node/engine/shard/reading/list-parts';
import { ShardBoosts } from '../../node/engine/shard/reading/shard-boosts';
import type { ShardIndexes } from '../../node/engine/shard/shard-indexes';
import { resultOf } from '../../shared/base/time/work-slices';
import type { FieldBoost } from '../../shared/contract/shard/boosts';
import type { Filter, JsonObject } from '../../shared/contract/filter/filter';
import { compareHits, type HitPlace } from '../../shared/contract/shard/shard-read';
import { plainBoosted, plainBoostNumbers } from '../support/models/plain-boosts';
import { runSeed, seededRandom } from '../support/values/random';
import { RandomBoosts } from '../support/values/random-boosts';

/** Lists that are read as far as boosts need, against all items that are scored one by one. */

const ITEMS = 1_000;
const BOUNDS = { first: 4, all: 8, known: 65_536, unknown: 64 };
const seed = runSeed('boosted-list');

interface Story {
  random: () => number;
  made: RandomBoosts;
  metadata: JsonObject[];
  scores: number[];
  indexes: Pick<ShardIndexes, 'filters' | 'directory' | 'vectors'>;
  /** How many slots were read. */
  reads: number[];
  /** Slots of items that chains leave out. */
  changed: Set<number>;
}

/** Scores of a kind: close to each other or not, below 0 too, or often the same. */
function storyOf(round: number): Story {
  const random = seededRandom(seed + round);
  const made = new RandomBoosts(random);
  const metadata = Array.from({ length: ITEMS }, () => made.metadata());
  const scoreOf = made.pick<() => number>([
    () => 0.8 + random() / 10,
    () => random() ** 8,
    () => 2 * random() - 1,
    () => -1 - random(),
    () => made.below(5) - 2,
  ]);
  const scores = metadata.map(scoreOf);
  const filters = new MemoryFilterIndex({ metadataOf: (slot) => metadata[slot] });
  for (const [slot, one] of metadata.entries()) filters.put(slot, one);
  const reads: number[] = [];
  const changed = new Set<number>();
  const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]);
  const indexes = {
    filters,
    directory: {
      liveCount: ITEMS,
      isLive: () => true,
      metadataOf: (slot: number) => JSON.stringify(metadata[slot]),
      externalIdOf: (slot: number) => `${round}-${String(slot).padStart(4, '0')}`,
      versionOf: (slot: number) => (changed.has(slot) ? 2 : 1),
    },
    vectors: {
      search: async (_: unknown, { k, allowed }: { k: number; allowed: { has(slot: number): boolean } | null }) => {
        const passing = order.filter((slot) => allowed === null || allowed.has(slot));
        const last = scores[passing[k - 1]];
        // All that tie with the last are there.
        const found = passing.filter((slot, i) => i < k || scores[slot] === last);
        reads.push(found.length);
        return { slots: Uint32Array.from(found), scores: Float64Array.from(found, (slot) => scores[slot]) };
      },
    },
  } as unknown as Story['indexes'];
  return { random, made, metadata, scores, indexes, reads, changed };
}

test.each(Array.from({ length: 12 }, (_, round) => round))(
  'the best by boosted scores are found, whatever they are without boosts (round %i)',
  async (round) => {
    const { made, metadata, scores, indexes, reads } = storyOf(round);
    let deep = 0;
    for (let i = 0; i < 60; i += 1) {
      const given = made.boosts();
      const k = made.pick([1, 3, 10, 40]);
      const filter: Filter | null = made.pick([null, { type: 'range', path: 'n', operator: 'gt', bound: 29 }]);
      const boosts = await ShardBoosts.prepared(indexes, given);
      const { mode, most } = boosts;
      const list = new BoostedList(k, { mode, most, depth: Math.max(BOUNDS.first, 2 * k), isTied: true });
      reads.length = 0;
      const request = { vector: Float32Array.of(1), k, filter, effort: { type: 'exact' as const }, texts: false };
      expect(await readBoosted(indexes, request, { list, boosts, counter: null }, BOUNDS)).toBeUndefined();
      const expected = [...scores.keys()]
        .filter((slot) => filter === null || (metadata[slot].n as number) >= 30)
        .map((slot) => ({
          slot,
          score: plainBoosted(given, scores[slot], plainBoostNumbers(given, metadata[slot])),
        }))
        .sort((a, b) => b.score - a.score || a.slot - b.slot);
      const { slots, scores: boosted } = resultOf(list.found());
      const found = Array.from(slots, (slot, at) => ({ slot, score: boosted[at] }))
        .sort((a, b) => b.score - a.score || a.slot - b.slot)
        .slice(0, k);
      expect({ given, found }).toEqual({ given, found: expected.slice(0, k) });
      if (Math.max(...reads) > ITEMS / 2) deep += 1;
    }
    // Most lists are read in part.
    expect(deep).toBeLessThan(30);
  },
);

test.each<[Partial<FieldBoost>, number, number | undefined]>([
  [{}, Infinity, 64],
  [{ weight: -1 }, Infinity, 64],
  [{ modifier: 'log1p' }, Infinity, 64],
  [{ modifier: 'log1p', weight: 0 }, 1, undefined],
  [{ modifier: 'reciprocal' }, 2, undefined],
  [{ modifier: 'square', weight: -1 }, 1, undefined],
])(
  'of items that are in no list, a bound is known or the answer says how deep it looked (%j)',
  async (given, most, told) => {
    const { indexes, made } = storyOf(99);
    const { filters } = indexes;
    const unlisted = { ...indexes, filters: withUnlisted(filters, 7) };
    const field: FieldBoost = {
      type: 'field',
      path: 'deep.likes',
      modifier: 'none',
      weight: 1,
      missing: null,
      ...given,
    };
    const boosts = await ShardBoosts.prepared(unlisted, { mode: 'multiply', parts: [field] });
    const { mode } = boosts;
    expect(boosts.most).toBe(most);
    const list = new BoostedList(3, { mode, most, depth: BOUNDS.first, isTied: true });
    const request = {
      vector: Float32Array.of(made.below(2)),
      k: 3,
      filter: null,
      effort: { type: 'exact' as const },
      texts: false,
    };
    expect(await readBoosted(unlisted, request, { list, boosts, counter: null }, BOUNDS)).toBe(told);
  },
);

const CHAIN_BOUNDS = { first: 4, all: 8, known: 64, unknown: 16 };

/**
 * The pages of a list over some shards, while items change, and the nearest items of each shard of those that had not
 * changed at first; a page tells whether it is of these alone.
 */
async function pagesOf(stories: readonly Story[], round: number) {
  const { made, random } = stories[0];
  const given = made.boosts();
  for (const { changed } of stories) for (let i = 0; i < 30; i += 1) changed.add(made.below(ITEMS));
  const nearest = stories.flatMap(({ scores, changed, indexes }) =>
    [...scores.keys()]
      .filter((slot) => !changed.has(slot))
      .map((slot) => ({ externalId: indexes.directory.externalIdOf(slot), score: scores[slot] }))
      .sort(compareHits)
      .slice(0, CHAIN_BOUNDS.known)
      .map(({ externalId }) => externalId),
  );
  const before = stories.reduce((sum, { changed }) => sum + changed.size, 0);
  const shards = stories.map(({ indexes }) => ({
    indexes,
    parts: new ListParts(indexes.directory, new KeptParts({ bytesMax: made.pick([0, 1 << 20]), unusedMs: 60_000 })),
  }));
  const pages: { hits: HitPlace[]; isBounded: boolean }[] = [];
  let after: HitPlace | null = null;
  let passed = 0;
  for (;;) {
    const k = made.pick([1, 3, 10, 40]);
    let isBounded = false;
    const lists: HitPlace[] = [];
    for (const { indexes, parts } of shards) {
      const part = { versionMax: 1, after, passed: Math.ceil(passed / shards.length) };
      const effort = { type: 'exact' as const };
      const request = { vector: Float32Array.of(1), k: k + 1, filter: null, effort, texts: false, part };
      const boosts = await ShardBoosts.prepared(indexes, given);
      const search = boostedParts(indexes, request, part, { boosts, counter: null }, CHAIN_BOUNDS);
      const found = await parts.next(() => `${round}`, part, k + 1, search);
      isBounded ||= found.boostDepth !== undefined;
      for (const { slot, score } of found.hits) lists.push({ externalId: indexes.directory.externalIdOf(slot), score });
    }
    const behind = lists.sort(compareHits);
    pages.push({ hits: behind.slice(0, k), isBounded });
    if (behind.length <= k) return { pages, nearest, before };
    after = behind[k - 1];
    passed += k;
    const story = stories[made.below(stories.length)];
    if (random() < 0.2) story.changed.add(made.below(ITEMS));
  }
}

test.each([1, 2, 5])(
  'pages of a list whose best can not be known are those of the same items, of %i shards',
  async (shards) => {
    let boundedPages = 0;
    for (let round = 0; round < 24; round += 1) {
      const stories = Array.from({ length: shards }, (_, shard) => storyOf(1_000 * round + shard));
      const { pages, nearest, before } = await pagesOf(stories, round);
      const hits = pages.flatMap(({ hits: some }) => some);
      expect(hits).toEqual([...hits].sort(compareHits));
      const ids = hits.map(({ externalId }) => externalId);
      expect(new Set(ids).size).toBe(ids.length);
      const isChanged = new Set(
        stories.flatMap(({ changed, indexes }) => [...changed].map((slot) => indexes.directory.externalIdOf(slot))),
      );
      const given = new Set(ids);
      expect(nearest.filter((id) => !given.has(id) && !isChanged.has(id))).toEqual([]);
      const first = pages.findIndex(({ isBounded }) => isBounded);
      if (first < 0) {
        expect(ids.length).toBeGreaterThanOrEqual(shards * ITEMS - isChanged.size);
        continue;
      }
      boundedPages += 1;
      if (shards > 1) continue;
      // What was changed meanwhile made room for others.
      const later = pages.slice(first).flatMap(({ hits: some }) => some.map(({ externalId }) => externalId));
      const known = new Set(nearest);
      expect(later.filter((id) => !known.has(id)).length).toBeLessThanOrEqual(isChanged.size - before);
    }
    expect(boundedPages).toBeGreaterThan(4);
  },
);

test('of a list that can not be known to a depth, the sure ones are the first of all items', async () => {
  let short = 0;
  for (let round = 0; round < 24; round += 1) {
    const { made, metadata, scores, indexes } = storyOf(5_000 + round);
    const given = made.boosts();
    const boosts = await ShardBoosts.prepared(indexes, given);
    const part = { versionMax: 1, after: null, passed: 0 };
    const effort = { type: 'exact' as const };
    const request = { vector: Float32Array.of(1), k: 1, filter: null, effort, texts: false, part };
    const { known } = boostedParts(indexes, request, part, { boosts, counter: null }, CHAIN_BOUNDS);
    const expected = [...scores.keys()]
      .map((slot) => ({ slot, score: plainBoosted(given, scores[slot], plainBoostNumbers(given, metadata[slot])) }))
      .sort((a, b) => b.score - a.score || a.slot - b.slot);
    for (const k of [3, 20, 60, 100]) {
      const list = await known(k);
      if (list?.isShort !== true) continue;
      const { slots, scores: boosted } = list.found;
      const found = Array.from(slots, (slot, at) => ({ slot, score: boosted[at] }));
      found.sort((a, b) => b.score - a.score || a.slot - b.slot);
      expect({ given, k, found }).toEqual({ given, k, found: expected.slice(0, found.length) });
      if (found.length > 0) short += 1;
    }
  }
  expect(short).toBeGreaterThan(4);
});

test('where most items have changed, the nearest of the others are found by few searches', async () => {
  const { made, indexes, reads, changed, scores } = storyOf(77);
  const boosts = await ShardBoosts.prepared(indexes, made.boosts());
  const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]);
  for (const slot of order.slice(0, ITEMS - 20)) changed.add(slot);
  const part = { versionMax: 1, after: null, passed: 0 };
  const effort = { type: 'exact' as const };
  const request = { vector: Float32Array.of(1), k: 1, filter: null, effort, texts: false, part };
  const bounds = { ...CHAIN_BOUNDS, known: 8 };
  const { found } = await boostedParts(indexes, request, part, { boosts, counter: null }, bounds).bounded();
  expect([...found.slots].sort((a, b) => a - b)).toEqual(order.slice(ITEMS - 20, ITEMS - 12).sort((a, b) => a - b));
  expect(reads.length).toBeLessThanOrEqual(8);
});

function withUnlisted(filters: ShardIndexes['filters'], size: number): ShardIndexes['filters'] {
  return new Proxy(filters, {
    get: (target, name) => {
      const value: unknown = name === 'unlistedSlots' ? { size } : Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
