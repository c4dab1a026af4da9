import { chainedFusion, type PartLeg } from '../../../../../coordinator/service/search/chained-fusion';
import { compareHits, type Hit } from '../../../../../shared/contract/shard/shard-read';

/** coordinator/service/search/chained-fusion.ts: lists of which not all items can be known. */

const hit = (n: number, score: number): Hit => ({
  externalId: `i${String(n).padStart(6, '0')}`,
  score,
  metadata: '{}',
});

/** A list of which, behind its first `whole`, only the items of `known` come; each is scored where it is asked for. */
function legOf(items: readonly Hit[], whole = items.length, known: (n: number) => boolean = () => true): PartLeg {
  const list = [...items].sort(compareHits);
  const bounded = list.filter((one, i) => i < whole || known(Number(one.externalId.slice(1))));
  return {
    weight: 1,
    read: async ({ after }, k, ids) => {
      if (ids !== null) return { hits: list.filter(({ externalId }) => ids.includes(externalId)), isBounded: false };
      const from = after === null ? 0 : bounded.findIndex((one) => compareHits(one, after) > 0);
      const hits = from < 0 ? [] : bounded.slice(from, from + k);
      return { hits, isBounded: whole < list.length && (from < 0 || from + k > whole) };
    },
  };
}

async function idsOf(legs: readonly PartLeg[], k: number): Promise<{ ids: string[]; longest: number }> {
  const page = { k, fusing: undefined, explain: false, enough: <Of>(hits: Of) => hits };
  const ids: string[] = [];
  let longest = 0;
  for (let state: readonly unknown[] = []; ;) {
    const { hits, next } = await chainedFusion(legs, page, state);
    ids.push(...hits.map(({ externalId }) => externalId));
    if (next === null) return { ids, longest };
    const text = JSON.stringify(next);
    longest = Math.max(longest, text.length);
    state = JSON.parse(text) as unknown[];
  }
}

test.each([0, 50, 130, 399])(
  'items that a bounded list does not have come by the others, once each (whole to %d)',
  async (whole) => {
    // By words, the items come in another order.
    const vectors = Array.from({ length: 400 }, (_, n) => hit(n, 1_000 - n));
    const words = Array.from({ length: 400 }, (_, n) => hit(n, (n * 177) % 400));
    const legs = [legOf(vectors, whole, (n) => n % 4 === 0), legOf(words)];
    for (const k of [1, 7, 100]) {
      const { ids } = await idsOf(legs, k);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length).toBe(400);
    }
  },
);

test('a bounded list ends before a cursor has too many of its items, and the others go on', async () => {
  const vectors = Array.from({ length: 40_000 }, (_, n) => hit(n, -n));
  const words = Array.from({ length: 2_000 }, (_, i) => hit(20 * i, (i * 177) % 2_000));
  const legs = [legOf(vectors, 100), legOf(words)];
  legs[1].weight = 0.5;
  const { ids, longest } = await idsOf(legs, 1_000);
  expect(new Set(ids).size).toBe(ids.length);
  const given = new Set(ids);
  expect(words.every(({ externalId }) => given.has(externalId))).toBe(true);
  expect(ids.length).toBeGreaterThan(10_000);
  expect(ids.length).toBeLessThan(25_000);
  expect(longest).toBeLessThan(250_000);
});
