import fc from 'fast-check';
import { fuse, fusionDepth } from '../../coordinator/service/search/fusion';
import { FUSION_KINDS, type Fusing } from '../../coordinator/service/search-request';
import { compareHits } from '../../shared/contract/shard/shard-read';
import { mergeHits } from '../../coordinator/service/search/merge';
import { byAlpha, plainlyFused as plainlyFusedHits } from '../support/models/plain-fusion';
import { wellFormedText } from '../support/http/any-text';

/** Merging and fusion against the shortest code that could be right. */

const parameters = { numRuns: 300 };

/** Few scores and ids that share beginnings, so that most hits are equal in one or the other. */
const hit = fc.record({
  externalId: fc.oneof(fc.string({ maxLength: 3 }), wellFormedText(2)),
  score: fc.constantFrom(0, 0.25, 0.5, 1, -1, Infinity),
});
const distinctHits = fc.uniqueArray(hit, { selector: ({ externalId }) => externalId, maxLength: 60 });
const place = fc.nat({ max: 70 });

describe('merge and fusion', () => {
  test('merging any split of the hits is sorting them all', () => {
    fc.assert(
      fc.property(
        distinctHits,
        fc.integer({ min: 1, max: 9 }),
        fc.infiniteStream(fc.nat({ max: 8 })),
        place,
        place,
        (hits, listCount, choices, offset, k) => {
          const lists: (typeof hits)[] = Array.from({ length: listCount }, () => []);
          for (const one of hits) lists[choices.next().value % listCount].push(one);
          // Each list as deep as a shard answers it.
          const answered = lists.map((list) => list.sort(compareHits).slice(0, offset + k));
          const expected = [...hits]
            .sort((a, b) => (a.score === b.score ? (a.externalId < b.externalId ? -1 : 1) : b.score > a.score ? 1 : -1))
            .slice(offset, offset + k);
          expect(mergeHits(answered, offset, k)).toEqual(expected);
        },
      ),
      parameters,
    );
  });

  test('fusion is the formula over ranks found by looking', () => {
    const ids = fc.uniqueArray(fc.string({ maxLength: 2 }), { maxLength: 40 });
    const alphas = fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }));
    fc.assert(
      fc.property(ids, ids, alphas, place, place, (vectorIds, keywordIds, alpha, offset, k) => {
        const listOf = (list: string[]) => list.map((externalId) => ({ externalId, score: 0, metadata: externalId }));
        const term = (list: string[], id: string, weight: number): number =>
          list.includes(id) ? weight / (60 + list.indexOf(id) + 1) : 0;
        const expected = [...new Set([...vectorIds, ...keywordIds])]
          .map((externalId) => ({
            externalId,
            score: term(vectorIds, externalId, alpha) + term(keywordIds, externalId, 1 - alpha),
            metadata: externalId,
          }))
          .filter(
            ({ externalId }) =>
              (alpha > 0 && vectorIds.includes(externalId)) || (alpha < 1 && keywordIds.includes(externalId)),
          )
          .sort((a, b) => b.score - a.score || (a.externalId < b.externalId ? -1 : 1))
          .slice(offset, offset + k);
        const lists = byAlpha({ vector: listOf(vectorIds), keyword: listOf(keywordIds) }, alpha);
        expect(fuse(lists, { offset, k })).toEqual(expected);
      }),
      parameters,
    );
  });

  const fusing = fc.record({
    kind: fc.constantFrom(...FUSION_KINDS),
    constant: fc.constantFrom(1, 60, 10_000),
    isUnit: fc.boolean(),
  });
  const allowed = ({ kind, isUnit }: Fusing): boolean => kind !== 'linear' || !isUnit;
  const weights = fc.oneof(fc.constantFrom(0, 1e-300, 0.5, 1), fc.double({ min: 0, max: 1e6, noNaN: true }));

  test('every kind of fusion is its formula over whole lists, sorted', () => {
    const scoredHits = fc
      .uniqueArray(
        fc.record({ externalId: fc.string({ maxLength: 2 }), score: fc.constantFrom(-1, 0, 0.25, 3, 1e300) }),
        {
          selector: ({ externalId }) => externalId,
          maxLength: 40,
        },
      )
      .map((hits) => hits.map((one) => ({ ...one, metadata: one.externalId })).sort(compareHits));
    const weighed = fc.array(fc.record({ hits: scoredHits, weight: weights }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(weighed, fusing.filter(allowed), place, place, (lists, by, offset, k) => {
        const found = fuse(lists, { offset, k, fusing: by, explain: true });
        const expected = plainlyFusedHits(lists, by).slice(offset, offset + k);
        expect(found.map(({ externalId, score }) => ({ externalId, score }))).toEqual(expected);
        for (const { score, metadata, externalId, explanation } of found) {
          expect(metadata).toBe(externalId);
          const sum = explanation!.reduce((all, { part }) => all + part, 0);
          expect(sum).toBeCloseTo(score, 9 - Math.log10(1 + Math.abs(score)));
          const places = lists.map(({ hits, weight }) =>
            weight > 0 ? hits.findIndex((hit) => hit.externalId === externalId) : -1,
          );
          expect(explanation!.map(({ rank, score: own }) => [rank, own])).toEqual(
            places.map((at, i) => (at < 0 ? [null, null] : [at + 1, lists[i].hits[at].score])),
          );
        }
      }),
      parameters,
    );
  });

  test('pages of every kind of fusion never overlap or skip', () => {
    const names = Array.from({ length: 700 }, (_, i) => `item-${i}`);
    const ranking = fc.shuffledSubarray(names, { minLength: 0 });
    const weighed = fc.array(fc.record({ ids: ranking, weight: weights }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(weighed, fusing.filter(allowed), fc.integer({ min: 1, max: 90 }), (rankings, by, k) => {
        const answered = new Set<string>();
        const total = new Set(rankings.flatMap(({ ids, weight }) => (weight > 0 ? ids : []))).size;
        for (let offset = 0; offset < total + k; offset += k) {
          const depth = fusionDepth(offset + k);
          const lists = rankings.map(({ ids, weight }) => ({
            hits: ids
              .slice(0, depth)
              .map((externalId, i) => ({ externalId, score: 1 / (2 + i), metadata: externalId })),
            weight,
          }));
          const best = plainlyFusedHits(lists, by).filter(({ externalId }) => !answered.has(externalId));
          const page = fuse(lists, { offset, k, fusing: by });
          expect(page.map(({ externalId, score }) => ({ externalId, score }))).toEqual(best.slice(0, k));
          for (const { externalId } of page) answered.add(externalId);
        }
        expect(answered.size).toBe(total);
      }),
      { numRuns: 60 },
    );
  });

  test('pages of fused lists never overlap or skip, and each is the best that is left at its depth', () => {
    const names = Array.from({ length: 700 }, (_, i) => `item-${i}`);
    const ranking = fc.shuffledSubarray(names, { minLength: 0 });
    fc.assert(
      fc.property(
        ranking,
        ranking,
        fc.constantFrom(0.5, 0.9, 1e-300, 0, 1),
        fc.integer({ min: 1, max: 90 }),
        (vectorIds, keywordIds, alpha, k) => {
          const hitsOf = (list: string[], depth: number) =>
            list.slice(0, depth).map((externalId) => ({ externalId, score: 0, metadata: externalId }));
          const answered = new Set<string>();
          const total = new Set([...(alpha > 0 ? vectorIds : []), ...(alpha < 1 ? keywordIds : [])]).size;
          for (let offset = 0; offset < total + k; offset += k) {
            const depth = fusionDepth(offset + k);
            const [vector, keyword] = [hitsOf(vectorIds, depth), hitsOf(keywordIds, depth)];
            const best = plainlyFused(vector, keyword, alpha).filter((id) => !answered.has(id));
            const page = fuse(byAlpha({ vector, keyword }, alpha), { offset, k }).map(({ externalId }) => externalId);
            expect(page).toEqual(best.slice(0, k));
            for (const id of page) answered.add(id);
          }
          expect(answered.size).toBe(total);
        },
      ),
      { numRuns: 60 },
    );
  });
});

/** Ids in the order of their fused scores, all sorted. */
function plainlyFused(vector: { externalId: string }[], keyword: { externalId: string }[], alpha: number): string[] {
  const scores = new Map<string, number>();
  if (alpha > 0) vector.forEach(({ externalId }, i) => scores.set(externalId, alpha / (61 + i)));
  if (alpha < 1)
    keyword.forEach(({ externalId }, i) =>
      scores.set(externalId, (scores.get(externalId) ?? 0) + (1 - alpha) / (61 + i)),
    );
  return [...scores].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1)).map(([id]) => id);
}
