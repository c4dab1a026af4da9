import type { SlotScores } from '../slots/slot-scores';

/**
 * The answer of several parts of an index as that of one: the best k by score, then slot, and all that tie with the
 * last. `repeated`: a slot may be in several parts; that of the first counts.
 */
export function mergedHits(parts: SlotScores[], k: number, repeated: boolean): SlotScores {
  const { slots, scores } = joined(parts, repeated);
  if (slots.length === 0) return { slots, scores, ...costOf(parts) };
  const border = scores.length <= k ? -Infinity : scores.toSorted()[scores.length - k];
  const better: { slot: number; score: number }[] = [];
  const tied: number[] = [];
  for (let i = 0; i < slots.length; i += 1) {
    if (scores[i] > border) better.push({ slot: slots[i], score: scores[i] });
    else if (scores[i] === border) tied.push(slots[i]);
  }
  better.sort((a, b) => b.score - a.score || a.slot - b.slot);
  // There may be many of them.
  const last = Uint32Array.from(tied).sort();
  const merged = {
    slots: new Uint32Array(better.length + last.length),
    scores: new Float64Array(better.length + last.length).fill(border),
  };
  better.forEach(({ slot, score }, i) => {
    merged.slots[i] = slot;
    merged.scores[i] = score;
  });
  merged.slots.set(last, better.length);
  return { ...merged, ...costOf(parts) };
}

/** All of their hits, in no order. */
function joined(parts: SlotScores[], repeated: boolean): { slots: Uint32Array; scores: Float64Array } {
  const filled = parts.filter((part) => part.slots.length > 0);
  if (filled.length === 1 && !repeated) return filled[0];
  const seen = new Set<number>();
  const slots: number[] = [];
  const scores: number[] = [];
  for (const part of filled) {
    for (let i = 0; i < part.slots.length; i += 1) {
      if (repeated) {
        if (seen.has(part.slots[i])) continue;
        seen.add(part.slots[i]);
      }
      slots.push(part.slots[i]);
      scores.push(part.scores[i]);
    }
  }
  return { slots: Uint32Array.from(slots), scores: Float64Array.from(scores) };
}

/** What all of them took: the longest times, and the plan of the part that scored most. */
function costOf(parts: SlotScores[]): Partial<SlotScores> {
  const counted = parts.filter((part) => part.scored !== undefined);
  if (counted.length === 0) return {};
  const sum = (of: (part: SlotScores) => number | undefined): number =>
    counted.reduce((total, part) => total + (of(part) ?? 0), 0);
  const longest = (of: (part: SlotScores) => number | undefined): number =>
    Math.max(...counted.map((part) => of(part) ?? 0));
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
