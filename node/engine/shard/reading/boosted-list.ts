import { type BoostMode, boostedScore } from '../../../../shared/contract/shard/boosts';
import type { ScoredSlot } from './ordered-hits';

/** Each longer list is so many times as long. */
const DEPTH_FACTOR = 4;

/** A slot that is live, with its score and the number of its boosts. */
export interface NumberedSlot {
  slot: number;
  score: number;
  number: number;
}

/** What a list has to say, of those that pass what it was asked for. */
export interface ReadList {
  /** Best first; those that are live. */
  found: readonly NumberedSlot[];
  /** No other has a better score than this; null: there is no other. */
  last: number | null;
}

/**
 * The best `k` of a list by boosted scores, of which the beginning is read by unboosted ones, as far as it takes: until
 * the next could not be among them with the greatest number of all, `most`.
 */
export class BoostedList {
  private readonly slots = new Set<number>();
  private best: ScoredSlot[] = [];
  /** How many have to be read next. */
  depth: number;
  /** What the next ones have to reach with their numbers; −Infinity: nothing is known of that. */
  least = -Infinity;

  /** `isTied`: lists go on after their last score with lower ones alone. */
  constructor(
    private readonly k: number,
    private readonly options: { mode: BoostMode; most: number; depth: number; isTied: boolean },
  ) {
    this.depth = options.depth;
  }

  /** The k best, best first, and all that tie with the last. */
  get scored(): ScoredSlot[] {
    return this.best;
  }

  /** No item that was not read has a better boosted score, once all is read that has to be. */
  get bound(): number {
    return this.best.length < this.k ? -Infinity : this.best[this.k - 1].score;
  }

  /** Answers whether that is all that had to be read. */
  take({ found, last }: ReadList): boolean {
    const { mode, most, isTied } = this.options;
    for (const { slot, score, number } of found) {
      if (this.slots.has(slot)) continue;
      this.slots.add(slot);
      this.best.push({ slot, score: boostedScore(mode, score, number) });
    }
    this.best.sort((a, b) => b.score - a.score);
    const { bound } = this;
    if (this.best.length > this.k) {
      const end = this.best.findIndex(({ score }) => score < bound);
      if (end >= 0) this.best.length = end;
    }
    if (last === null) return true;
    const reached = boostedScore(mode, last, most);
    if (bound > reached || (bound === reached && isTied && Math.abs(bound) < Number.MAX_VALUE)) return true;
    this.least = leastNumber(mode, last, bound);
    return false;
  }

  /** Reads more the next time. */
  deepen(): void {
    this.depth *= DEPTH_FACTOR;
  }
}

/** The least number that makes `wanted` of a score, or of one below it. */
function leastNumber(mode: BoostMode, score: number, wanted: number): number {
  if (mode === 'add') return wanted - score;
  // Where both are of one sign, the greater number helps; else any does, or none.
  if (score > 0) return wanted / score;
  return score < 0 && wanted < 0 ? score / wanted : -Infinity;
}
