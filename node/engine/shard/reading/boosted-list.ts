import { type BoostMode, boostedScore } from '../../../../shared/contract/shard/boosts';
import { ChunkedSlotSet } from '../../slots/chunked-slot-set';
import type { SlotScores } from '../../slots/slot-scores';
import type { ScoredSlot } from './ordered-hits';
import { firstWhere, sortedInSteps } from './sorted-in-steps';

/** Each longer list is so many times as long. */
const DEPTH_FACTOR = 4;
/** Slots taken before others are served: a part of a millisecond. */
const SLOTS_PER_STEP = 2_048;
/** More than the rounding of a sum can change it, as a part of its greatest term. */
const ROUNDING = 2 ** -50;

/** Slots that are live, with the score of each, and what its boosts make together. */
export interface NumberedSlots {
  slots: Uint32Array;
  scores: Float64Array;
  numbers: Float64Array;
}

/** What a list has to say, of those that pass what it was asked for. */
export interface ReadList {
  /** In any order. */
  found: NumberedSlots;
  /** No other has a better score than this; null: there is no other. */
  last: number | null;
}

/**
 * The best `k` of a list by boosted scores, of which the beginning is read by unboosted ones, as far as it takes: until
 * the next could not be among them with the greatest number of all, `most`.
 */
export class BoostedList {
  private readonly slots = new ChunkedSlotSet();
  /** Those that may be among the best, in no order between two cuts. */
  private kept: ScoredSlot[] = [];
  private leastKept = -Infinity;
  /** What no item that was not read can have more than, if it is not among the best. */
  private unread = Infinity;
  /** How many have to be read next. */
  depth: number;
  /** What the next ones have to reach with their numbers; −Infinity: nothing is known of that. */
  least = -Infinity;

  /** `isTied`: lists go on after their last score with lower ones alone. */
  constructor(
    readonly k: number,
    private readonly options: { mode: BoostMode; most: number; depth: number; isTied: boolean },
  ) {
    this.depth = options.depth;
  }

  /** The k best, best first, and all that tie with the last. */
  *found(): Generator<undefined, SlotScores> {
    const { kept } = this;
    const found = { slots: new Uint32Array(kept.length), scores: new Float64Array(kept.length) };
    for (let i = 0; i < kept.length; i += 1) {
      found.slots[i] = kept[i].slot;
      found.scores[i] = kept[i].score;
      if (i % SLOTS_PER_STEP === SLOTS_PER_STEP - 1) yield;
    }
    return found;
  }

  /** Of {@link found} those before which no other comes, however much of the list was read. */
  *sure(): Generator<undefined, SlotScores> {
    const { slots, scores } = yield* this.found();
    const end = firstWhere(scores.length, (at) => scores[at] <= this.unread);
    return { slots: slots.subarray(0, end), scores: scores.subarray(0, end) };
  }

  /** Once all is read that has to be, no other item has as good a boosted score; −Infinity: there is no other. */
  get bound(): number {
    return this.leastKept;
  }

  /** Answers whether that is all that had to be read. In steps: a list may hold all items. */
  *take({ found, last }: ReadList): Generator<undefined, boolean> {
    const { mode, most, isTied } = this.options;
    let room = this.roomNow();
    for (const [i, slot] of found.slots.entries()) {
      if (i % SLOTS_PER_STEP === SLOTS_PER_STEP - 1) yield;
      if (this.slots.has(slot)) continue;
      this.slots.add(slot);
      const boosted = boostedScore(mode, found.scores[i], found.numbers[i]);
      if (boosted < this.leastKept) continue;
      this.kept.push({ slot, score: boosted });
      if (this.kept.length < room) continue;
      yield* this.cut();
      room = this.roomNow();
    }
    yield* this.cut();
    if (last === null) return true;
    // Scores that differ may be the same when they are boosted: a great sum, for one, has no room for small parts.
    this.unread = boostedScore(mode, isTied ? nextBelow(last) : last, most);
    if (this.bound > this.unread) return true;
    this.least = leastNumber(mode, last, this.bound);
    return false;
  }

  /** Leaves out what is gone; then what was not read may be better than what is behind {@link bound}. */
  *drop(isGone: (slot: number) => boolean): Generator<undefined, void> {
    const { kept } = this;
    let end = 0;
    for (let i = 0; i < kept.length; i += 1) {
      if (!isGone(kept[i].slot)) kept[end++] = kept[i];
      if (i % SLOTS_PER_STEP === SLOTS_PER_STEP - 1) yield;
    }
    kept.length = end;
  }

  /** Reads more the next time, and no more than `deepest`. */
  deepen(deepest = Infinity): void {
    this.depth = Math.min(DEPTH_FACTOR * this.depth, deepest);
  }

  /** Many are cut at once, so that each is sorted a few times. */
  private roomNow(): number {
    return 2 * Math.max(this.k, this.kept.length) + SLOTS_PER_STEP;
  }

  /** In steps: a deep list may keep all items. */
  private *cut(): Generator<undefined, void> {
    const kept = yield* sortedInSteps(this.kept, (a, b) => b.score - a.score);
    this.kept = kept;
    if (kept.length < this.k) return;
    const least = kept[this.k - 1].score;
    this.leastKept = least;
    kept.length = firstWhere(kept.length, (at) => kept[at].score < least);
  }
}

/** The greatest number below it; of an infinite one itself. */
function nextBelow(score: number): number {
  if (!Number.isFinite(score)) return score;
  if (score === 0) return -Number.MIN_VALUE;
  const bits = new BigInt64Array(1);
  const number = new Float64Array(bits.buffer);
  number[0] = score;
  bits[0] += score > 0 ? -1n : 1n;
  return number[0];
}

/** The least number that makes `wanted` of a score, or of one below it. */
function leastNumber(mode: BoostMode, score: number, wanted: number): number {
  if (mode === 'add') return wanted - score - ROUNDING * (Math.abs(wanted) + Math.abs(score));
  // Where both are of one sign, the greater number helps; else any does, or none.
  if (score > 0) return wanted / score;
  return score < 0 && wanted < 0 ? score / wanted : -Infinity;
}
