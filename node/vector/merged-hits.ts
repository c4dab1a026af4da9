import type { SlotScores } from '../slots/slot-scores';

/**
 * The answer of several parts of an index as that of one: the best k by score, then slot, and at most k that tie with the last.
 * `repeated`: a slot may be in several parts; that of the first counts.
 */
export function mergedHits(parts: SlotScores[], k: number, repeated: boolean): SlotScores {
  const seen = new Set<number>();
  const hits: { slot: number; score: number }[] = [];
  for (const { slots, scores } of parts) {
    for (let i = 0; i < slots.length; i += 1) {
      if (repeated) {
        if (seen.has(slots[i])) continue;
        seen.add(slots[i]);
      }
      hits.push({ slot: slots[i], score: scores[i] });
    }
  }
  hits.sort((a, b) => b.score - a.score || a.slot - b.slot);
  let end = Math.min(hits.length, k);
  while (end > 0 && end < Math.min(hits.length, 2 * k) && hits[end].score === hits[k - 1].score) end += 1;
  hits.length = end;
  return { slots: Uint32Array.from(hits, ({ slot }) => slot), scores: Float64Array.from(hits, ({ score }) => score), ...costOf(parts) };
}

/** What all of them took: the longest times, and the plan of the part that scored most. */
function costOf(parts: SlotScores[]): Partial<SlotScores> {
  const counted = parts.filter((part) => part.scored !== undefined);
  if (counted.length === 0) return {};
  const sum = (of: (part: SlotScores) => number | undefined): number => counted.reduce((total, part) => total + (of(part) ?? 0), 0);
  const longest = (of: (part: SlotScores) => number | undefined): number => Math.max(...counted.map((part) => of(part) ?? 0));
  const most = longest(({ scored }) => scored);
  return {
    scored: sum(({ scored }) => scored),
    leftOut: sum(({ leftOut }) => leftOut),
    rescored: sum(({ rescored }) => rescored),
    expanded: sum(({ expanded }) => expanded),
    allowed: sum(({ allowed }) => allowed),
    plan: counted.find(({ scored }) => scored === most)?.plan,
    queueMs: longest(({ queueMs }) => queueMs),
    filterMs: longest(({ filterMs }) => filterMs),
    runMs: longest(({ runMs }) => runMs),
  };
}
