import { type LengthNorm, termScore } from './bm25';
import { BOUND_SLACK, type ScoreCursor, type WindowScores } from './posting-cursor';
import type { PostingLists } from './posting-lists';
import type { UnitTerm } from './searched-units';
import { UnionReader } from './union-reader';

/** Terms of which any is enough, as one list: words that one word of a query stands for. */
export class UnionCursor implements ScoreCursor {
  readonly scoreMax: number;
  readonly listCount: number;
  private readonly norm: LengthNorm;
  private readonly reader: UnionReader;

  constructor(
    { lists, norm, documentCount }: { lists: PostingLists; norm: LengthNorm; documentCount: number },
    terms: readonly UnitTerm[],
    private readonly weight: number,
  ) {
    this.norm = norm;
    this.reader = new UnionReader(lists, terms, documentCount);
    this.listCount = terms.length;
    this.scoreMax = unionScoreMax(terms, weight, { lists, norm });
  }

  get next(): number {
    return this.reader.next;
  }

  accumulate(window: WindowScores, last: number, lengths: Uint32Array): void {
    const { reader, weight } = this;
    const { first, scores, touched } = window;
    const { base, slope } = this.norm;
    let { touchedCount } = window;
    for (let document = reader.next; document < last; document = reader.next) {
      const { frequency } = reader;
      const score = scores[document - first];
      if (score === 0) touched[touchedCount++] = document;
      scores[document - first] = score + (weight * frequency) / (frequency + (base + slope * lengths[document]));
      reader.advance();
    }
    window.touchedCount = touchedCount;
  }

  advance(): void {
    this.reader.advance();
  }

  /** Nothing is known of them. */
  blockBounds(): null {
    return null;
  }

  skipBlocks(): void {
    // It has none.
  }

  score(length: number): number {
    return termScore(this.weight, this.reader.frequency, length, this.norm);
  }

  scoreOf(document: number, length: number): number {
    const frequency = this.reader.frequencyIn(document);
    return frequency === 0 ? 0 : termScore(this.weight, frequency, length, this.norm);
  }

  seek(document: number): void {
    this.reader.seek(document);
  }
}

/** The most that such terms add to any score. */
export function unionScoreMax(
  terms: readonly UnitTerm[],
  weight: number,
  { lists, norm }: { lists: PostingLists; norm: LengthNorm },
): number {
  if (terms.length === 0) return 0;
  let frequencySum = 0;
  let lengthLeast = Infinity;
  for (const { term, factor } of terms) {
    const { frequencyMax, lengthMin } = lists.bounds(term);
    frequencySum += factor * frequencyMax;
    lengthLeast = Math.min(lengthLeast, lengthMin);
  }
  const most = frequencySum === Infinity ? weight : termScore(weight, frequencySum, lengthLeast, norm);
  return most * BOUND_SLACK;
}
