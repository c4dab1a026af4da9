import { type LengthNorm, termScore } from './bm25';
import { BOUND_SLACK } from './posting-cursor';
import type { PostingLists } from './posting-lists';
import { PostingReader } from './posting-reader';
import type { SearchedUnit } from './searched-units';

/** Looks a unit up in documents, which must ascend. It is valid until the next change of the index. */
export class UnitReader {
  /** The most that the unit adds to any score. */
  readonly scoreMax: number;
  /** No more documents have it. */
  readonly documentsMax: number;
  private readonly factors: number[];
  /** Of terms that all must be there, the rarest one first. */
  private readonly readers: PostingReader[];

  constructor(
    readonly unit: SearchedUnit,
    private readonly lists: PostingLists,
    private readonly norm: LengthNorm,
  ) {
    const terms = unit.terms();
    this.factors = terms.map(({ factor }) => factor);
    this.readers = terms.map(({ term }) => new PostingReader(lists, term));
    if (!unit.isAnyEnough) this.readers.sort((a, b) => a.left - b.left);
    this.documentsMax = this.leading().reduce((sum, { left }) => sum + left, 0);
    this.scoreMax = this.readers.length === 0 ? 0 : this.bound() * BOUND_SLACK;
  }

  /** The lengths of its lists. */
  get lengths(): number[] {
    return this.readers.map(({ left }) => left);
  }

  /** Lists at their begin; each document that has the unit is in one of them. */
  leading(): PostingReader[] {
    const { readers, unit } = this;
    return (unit.isAnyEnough ? readers : readers.slice(0, 1)).map(({ term }) => new PostingReader(this.lists, term));
  }

  /** What it adds to the score of a document; 0: the document does not have it. */
  scoreOf(document: number, length: number): number {
    const frequency = this.unit.isAnyEnough ? this.sumIn(document) : this.leastIn(document);
    return frequency === 0 ? 0 : termScore(this.unit.weight, frequency, length, this.norm);
  }

  private sumIn(document: number): number {
    let sum = 0;
    for (let i = 0; i < this.readers.length; i++) sum += this.factors[i] * this.readers[i].frequencyIn(document);
    return sum;
  }

  private leastIn(document: number): number {
    let least = Infinity;
    for (let i = 0; i < this.readers.length && least > 0; i++)
      least = Math.min(least, this.readers[i].frequencyIn(document));
    return least === Infinity ? 0 : least;
  }

  private bound(): number {
    const { isAnyEnough, weight } = this.unit;
    const bounds = this.readers.map(({ term }) => this.lists.bounds(term));
    const lengths = bounds.map(({ lengthMin }) => lengthMin);
    const frequencyMax = isAnyEnough
      ? bounds.reduce((sum, bound, i) => sum + this.factors[i] * bound.frequencyMax, 0)
      : Math.min(...bounds.map((bound) => bound.frequencyMax));
    const lengthMin = isAnyEnough ? Math.min(...lengths) : Math.max(...lengths);
    return frequencyMax === Infinity ? weight : termScore(weight, frequencyMax, lengthMin, this.norm);
  }
}
