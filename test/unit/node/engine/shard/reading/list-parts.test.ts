import { KeptParts } from '../../../../../../node/engine/shard/reading/kept-parts';
import { type DeepList, ListParts } from '../../../../../../node/engine/shard/reading/list-parts';

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
  return { depths, search, parts: new ListParts(items, new KeptParts({ bytesMax: 1 << 20, unusedMs: 60_000 }), aside) };
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
  const { parts, search, depths } = listOf(5_000, (work) => {
    works.push(work);
    return Promise.resolve();
  });
  const found: number[] = [];
  const searches: number[] = [];
  for (let page = 0; page < 100; page += 1) {
    const last = found.at(-1);
    const after = last === undefined ? null : { externalId: nameOf(last), score: -last };
    const part = { versionMax: 1, after, passed: found.length };
    const { hits } = await parts.next(() => 'list', part, 10, { known: search });
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
  const { parts, search, depths } = listOf(5_000, async (work) => {
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
    const { hits } = await parts.next(() => 'list', part, k, { known: search });
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
