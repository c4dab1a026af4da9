import { BOUND_SLACK, termScore } from './bm25';
import { leastFrequencyIn, PostingReader } from './posting-reader';
import { wholeView } from './posting-view';
import type { SearchedUnit, SearchedUnits } from './searched-units';
import { UnionReader, unionScoreMax } from './union-reader';

/** Of a reader of a list that is not of one term. */
const NO_TERM = -1;

/** Looks a unit up in documents, which must ascend. It is valid until the next change of the index. */
export class UnitReader {
  /** The most that the unit adds to any score. */
  readonly scoreMax: number;
  /** No more documents have it. */
  readonly documentsMax: number;
  /** Of terms that all must be there, the rarest one first. */
  private readonly readers: PostingReader[];
  private union: UnionReader | null = null;

  constructor(
    readonly unit: SearchedUnit,
    private readonly source: Pick<SearchedUnits, 'documents' | 'lists' | 'norm'>,
  ) {
    const { lists } = source;
    const terms = unit.terms();
    this.readers = terms.map(({ term }) => new PostingReader(lists, term));
    for (const list of unit.lists ?? []) this.readers.push(new PostingReader(lists, NO_TERM, wholeView(list)));
    if (!unit.isAnyEnough) this.readers.sort((a, b) => a.left - b.left);
    this.documentsMax = this.leading().reduce((sum, { left }) => sum + left, 0);
    // Nothing is known of the frequencies of meanings.
    if (unit.lists !== undefined) this.scoreMax = unit.weight * BOUND_SLACK;
    else this.scoreMax = unit.isAnyEnough ? unionScoreMax(terms, unit.weight, source) : this.bound();
  }

  /** The lengths of its lists. */
  get lengths(): number[] {
    return this.readers.map(({ left }) => left);
  }

  /** Lists at their begin; each document that has the unit is in one of them. */
  leading(): PostingReader[] {
    const { readers, unit } = this;
    const { lists } = this.source;
    const terms = unit.isAnyEnough ? readers.filter(({ term }) => term !== NO_TERM) : readers.slice(0, 1);
    const leading = terms.map(({ term }) => new PostingReader(lists, term));
    for (const list of unit.lists ?? []) leading.push(new PostingReader(lists, NO_TERM, wholeView(list)));
    return leading;
  }

  /** How often a document has it. */
  frequencyIn(document: number): number {
    return this.unit.isAnyEnough ? this.sumIn(document) : leastFrequencyIn(this.readers, document);
  }

  /** What it adds to the score of a document that has it so often. */
  scoreOf(frequency: number, length: number): number {
    return termScore(this.unit.weight, frequency, length, this.source.norm);
  }

  private sumIn(document: number): number {
    const { lists, documents } = this.source;
    this.union ??= new UnionReader(lists, this.unit.terms(), documents.count, this.unit.lists);
    return this.union.frequencyIn(document);
  }

  private bound(): number {
    if (this.readers.length === 0) return 0;
    const { lists, norm } = this.source;
    const bounds = this.readers.map(({ term }) => lists.bounds(term));
    const frequencyMax = Math.min(...bounds.map((bound) => bound.frequencyMax));
    const lengthMin = Math.max(...bounds.map((bound) => bound.lengthMin));
    const { weight } = this.unit;
    return (frequencyMax === Infinity ? weight : termScore(weight, frequencyMax, lengthMin, norm)) * BOUND_SLACK;
  }
}
