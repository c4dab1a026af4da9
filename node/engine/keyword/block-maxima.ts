import type { LengthNorm } from './bm25';
import { LONG_FREQUENCY, type PostingView } from './posting-view';

/**
 * Postings per block: small enough that few blocks hold one of the best documents, large enough that skipping a block
 * pays off.
 */
const BLOCK_BITS = 6;
export const BLOCK_POSTINGS = 1 << BLOCK_BITS;
/** Shorter lists are read faster than their maxima. */
const LIST_MIN = 16 * BLOCK_POSTINGS;
/** If the average length has changed by more than this factor, the bounds are too loose to keep. */
const SLOPE_DRIFT_MAX = 1.1;
/** Rounding down to float32 loses less than this factor. */
const ROUND_UP = 1 + 1e-6;

/** For each whole block of a list, the most that its postings add to a score, per unit of the term's weight. */
export interface BlockBounds {
  maxima: Float32Array;
  /** The factor for the maxima under the statistics of the query. */
  factor: number;
}

interface ListMaxima {
  slope: number;
  maxima: Float32Array;
  blockCount: number;
}

/**
 * Upper bounds of term scores by block of postings (Ding & Suel, "Faster top-k document retrieval using block-max
 * indexes", 2011). They are made when a query first needs them, and extended as the list grows. Documents that are
 * removed only make them less tight.
 *
 * A score depends on the average length, which changes with every document: it is tf / (tf + base + slope · length). A
 * maximum taken at one slope is too small at a lower slope, by at most the ratio of the two: (tf + base + s₀ · length)
 * / (tf + base + s · length) ≤ max(1, s₀ / s).
 */
export class BlockMaxima {
  private readonly byTerm = new Map<number, ListMaxima>();

  /** Null if the list is too short. `view` is the term's whole list as it is now. */
  boundsOf(term: number, view: PostingView, lengths: Uint32Array, norm: LengthNorm): BlockBounds | null {
    const count = view.end - view.start;
    if (count < LIST_MIN || !(norm.slope > 0)) return null;
    let known = this.byTerm.get(term);
    if (
      known === undefined ||
      known.slope > norm.slope * SLOPE_DRIFT_MAX ||
      norm.slope > known.slope * SLOPE_DRIFT_MAX
    ) {
      known = { slope: norm.slope, maxima: new Float32Array(count >>> BLOCK_BITS), blockCount: 0 };
      this.byTerm.set(term, known);
    }
    const blockCount = count >>> BLOCK_BITS;
    if (blockCount > known.maxima.length) {
      const grown = new Float32Array(Math.ceil(blockCount * 1.25));
      grown.set(known.maxima);
      known.maxima = grown;
    }
    for (; known.blockCount < blockCount; known.blockCount++) {
      known.maxima[known.blockCount] =
        maximum(view, view.start + known.blockCount * BLOCK_POSTINGS, lengths, norm.base, known.slope) * ROUND_UP;
    }
    return { maxima: known.maxima, factor: Math.max(1, known.slope / norm.slope) };
  }

  /** The list is gone, or its postings have moved inside it. */
  forget(term: number): void {
    this.byTerm.delete(term);
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const { maxima } of this.byTerm.values()) bytes += maxima.byteLength + 64;
    return bytes;
  }
}

function maximum(view: PostingView, from: number, lengths: Uint32Array, base: number, slope: number): number {
  let highest = 0;
  for (let i = from; i < from + BLOCK_POSTINGS; i++) {
    const frequency = view.frequencies[i];
    if (frequency === LONG_FREQUENCY) return 1;
    const share = frequency / (frequency + (base + slope * lengths[view.documents[i]]));
    if (share > highest) highest = share;
  }
  return highest;
}
