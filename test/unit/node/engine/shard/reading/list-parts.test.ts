import { KeptParts } from '../../../../../../node/engine/shard/reading/kept-parts';
import { type DeepList, ListParts, type ListSearch } from '../../../../../../node/engine/shard/reading/list-parts';

/** node/engine/shard/reading/list-parts.ts: how deep is looked for a part. */

const nameOf = (slot: number): string => `i${String(slot).padStart(6, '0')}`;

/** Slots from 0 on, each with a lower score than the one before. */
function listOf(count: number, aside: ((work: () => Promise<void>) => Promise<void>) | null = null) {
  const depths: number[] = [];
  const items = { liveCount: count, isLive: () => true, externalIdOf: nameOf, versionOf: () => 1 };
  const search = async (depth: number): Promise<DeepList> => {
    depths.push(depth);
    const slots = Uint32Array.from({ length: Math.min(depth, count) }, (_, slot) => slot);
    return { found: { slots, scores: Float64Array.from(slots, (slot) => -slot) }, isWhole: slots.length < depth };
  };
  const parts = new ListParts(items, new KeptParts({ bytesMax: 1 << 24, unusedMs: 60_000 }), aside);
  return { depths, search, both: { known: search, ahead: search }, parts };
}

/** What reads beside pages would do, to be done when a test says so. */
function later() {
  const works: (() => Promise<void>)[] = [];
  const aside = (work: () => Promise<void>): Promise<void> =>
    new Promise((done) => works.push(() => work().then(done)));
  const doAll = async (): Promise<void> => {
    for (const work of works.splice(0)) await work();
  };
  return { works, aside, doAll };
}

/** The page of `k` behind a slot. `passed`: how many are said to come before it. */
async function behind(parts: ListParts, slot: number, search: ListSearch, { k = 10, passed = slot + 1 } = {}) {
  const part = { versionMax: 1, after: { externalId: nameOf(slot), score: -slot }, passed };
  const { hits } = await parts.next(() => 'list', part, k, search);
  return hits.map((hit) => hit.slot);
}

test.each([1, 40, 2 ** 32, Number.MAX_SAFE_INTEGER])(
  'where %d are said to come before, the part is the same, and no search is for many more than there are',
  async (passed) => {
    const { parts, search, depths } = listOf(50);
    const after = { externalId: nameOf(9), score: -9 };
    const { hits } = await parts.next(() => 'list', { versionMax: 1, after, passed }, 5, { known: search });
    expect(hits.map(({ slot }) => slot)).toEqual([10, 11, 12, 13, 14]);
    expect(Math.max(...depths)).toBeLessThanOrEqual(4 * 50);
  },
);

test.each([0, 5e-8, -5e-8])(
  'a hit is not behind itself where another processor scored it near 0 (by %d from there)',
  async (elsewhere) => {
    const { parts, search } = listOf(50);
    const known = async (depth: number): Promise<DeepList> => {
      const { found, isWhole } = await search(depth);
      // Cosines: the ninth is as good as orthogonal.
      return { found: { ...found, scores: found.scores.map((score) => (score + 9) / 50) }, isWhole };
    };
    const after = { externalId: nameOf(9), score: elsewhere };
    const part = { versionMax: 1, after, passed: 10 };
    const asked = await parts.next(() => 'list', part, 5, { known });
    expect(asked.hits.map(({ slot }) => slot)).toEqual([10, 11, 12, 13, 14]);
    // Of what is kept.
    const again = await parts.next(() => 'list', part, 5, { known });
    expect(again).toEqual(asked);
  },
);

test('what comes behind pages is read beside them: of all pages, only the second one searches', async () => {
  const works: (() => Promise<void>)[] = [];
  const { parts, both, depths } = listOf(5_000, (work) => {
    works.push(work);
    return Promise.resolve();
  });
  const found: number[] = [];
  const searches: number[] = [];
  for (let page = 0; page < 100; page += 1) {
    const last = found.at(-1);
    const after = last === undefined ? null : { externalId: nameOf(last), score: -last };
    const part = { versionMax: 1, after, passed: found.length };
    const { hits } = await parts.next(() => 'list', part, 10, both);
    found.push(...hits.map(({ slot }) => slot));
    searches.push(depths.length);
    for (const work of works.splice(0)) await work();
    depths.length = 0;
  }
  expect(found).toEqual(Array.from({ length: 1_000 }, (_, slot) => slot));
  expect(searches).toEqual([1, 1, ...Array.from({ length: 98 }, () => 0)]);
});

test('a page waits for what is read of its list, and does not search too', async () => {
  let read: () => Promise<void> = () => Promise.reject(new Error('nothing is to be read'));
  const { parts, both, depths } = listOf(5_000, async (work) => {
    await new Promise<void>((done) => {
      read = async () => {
        await work();
        done();
      };
    });
  });
  let at = 9;
  const next = async (k: number): Promise<number[]> => {
    const part = { versionMax: 1, after: { externalId: nameOf(at), score: -at }, passed: at + 1 };
    const { hits } = await parts.next(() => 'list', part, k, both);
    at += hits.length;
    return hits.map(({ slot }) => slot);
  };
  await next(10);
  for (let page = 0; page < 4; page += 1) await next(10);
  const searched = depths.length;
  const waiting = next(10);
  await read();
  expect(await waiting).toEqual(Array.from({ length: 10 }, (_, i) => 60 + i));
  expect(depths.length).toBe(searched + 1);
});

test('a part that is not deeper does not take the place of one that is kept', async () => {
  const { aside, doAll } = later();
  const { parts, both, depths } = listOf(20_000, aside);
  // Far fewer are said to come before than do.
  const found: number[] = await behind(parts, 999, both, { passed: 10 });
  let searches = depths.length;
  const pages: number[] = [];
  while (found.length < 500) {
    await doAll();
    depths.length = 0;
    found.push(...(await behind(parts, found.at(-1)!, both, { passed: 10 + found.length })));
    searches += depths.length;
    pages.push(depths.length);
  }
  expect(found).toEqual(Array.from({ length: 500 }, (_, i) => 1_000 + i));
  expect(pages.every((count) => count === 0)).toBe(true);
  expect(searches).toBeLessThan(8);
});

test('a page does not wait for what is read behind it', async () => {
  const { works, aside, doAll } = later();
  const { parts, both } = listOf(5_000, aside);
  await behind(parts, 999, both);
  await behind(parts, 1_800, both);
  expect(works).toHaveLength(1);
  expect(await behind(parts, 9, both)).toEqual(Array.from({ length: 10 }, (_, i) => 10 + i));
  await doAll();
});

test('nothing is read beside pages that lie very deep', async () => {
  const { works, aside } = later();
  const { parts, both } = listOf(600_000, aside);
  await behind(parts, 150_000, both);
  await behind(parts, 280_000, both);
  expect(works).toEqual([]);
});

/** A list of which no more than so many hits can be known; or, to a depth behind that, none. */
function unsure(knownMost: number, isShort: boolean, search: (depth: number) => Promise<DeepList>) {
  const depths: number[] = [];
  const counts = { bounded: 0 };
  const of: ListSearch = {
    known: async (depth) => {
      depths.push(depth);
      if (depth <= knownMost) return search(depth);
      if (!isShort) return null;
      const { found } = await search(knownMost);
      return { found, isWhole: false, isShort: true };
    },
    bounded: async () => {
      counts.bounded += 1;
      const { found } = await search(10_000);
      return { found, isWhole: true, boostDepth: 10_000 };
    },
  };
  return { depths, counts, of };
}

test.each([true, false])(
  'pages beside the end of what can be known search once each at most (the sure ones come: %s)',
  async (isShort) => {
    const { parts, search } = listOf(2_000);
    const { depths, counts, of } = unsure(1_000, isShort, search);
    const found = [0];
    const searches: number[] = [];
    while (found.length < 1_200) {
      found.push(...(await behind(parts, found.at(-1)!, of)));
      searches.push(depths.length);
      depths.length = 0;
    }
    expect(found.slice(0, 1_200)).toEqual(Array.from({ length: 1_200 }, (_, slot) => slot));
    // Where it is first met, and where it is crossed, there are two.
    expect(searches.filter((count) => count > 1).length).toBeLessThanOrEqual(2);
    expect(counts.bounded).toBe(1);
    if (isShort) expect(searches.filter((count) => count > 0).length).toBeLessThan(12);
  },
);
