import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import { TEXT_FIELD } from '../../../shared/contract/shard/keyword-fields';
import { FieldLists } from './field-lists';
import { grownUint32 } from './growable';

/** What a text has in one field. */
export interface FieldText {
  /** Number of terms, with repetitions and without weights. */
  length: number;
  /** How often each is there, by its number. */
  frequencies: ReadonlyMap<number, number>;
}

/**
 * How often terms are in each of an index's fields, beside the lists that have the weighted sums. All fields but one
 * are kept: what the last one has is what the sums have besides, divided by its weight. That is the text, if it is one
 * of them, whose lists would be the longest. Numbers of documents and terms are those of the index.
 */
export class FieldPostings {
  /** By field. */
  readonly weights: readonly number[];
  /** The field that follows from the others. */
  readonly rest: number;
  /** The others. */
  readonly kept: readonly number[];
  /** By kept field. */
  readonly lists: readonly FieldLists[];
  /** By kept field and document: its terms there. */
  readonly lengths: Uint32Array<ArrayBuffer>[];
  /** By kept field: the same of all live documents. */
  private readonly totals: number[];

  constructor(fields: KeywordFields) {
    const text = fields.findIndex(({ path }) => path === TEXT_FIELD);
    this.weights = fields.map(({ weight }) => weight);
    this.rest = text < 0 ? fields.length - 1 : text;
    this.kept = [...fields.keys()].filter((field) => field !== this.rest);
    this.lists = this.kept.map(() => new FieldLists());
    this.lengths = this.kept.map(() => new Uint32Array(0));
    this.totals = this.kept.map(() => 0);
  }

  /** For what a text has in each kept field. */
  counters(): Map<number, number>[] {
    return this.kept.map(() => new Map<number, number>());
  }

  /** `texts`: of the kept fields. */
  add(document: number, texts: readonly FieldText[]): void {
    for (const [i, { length, frequencies }] of texts.entries()) {
      const lists = this.lists[i];
      this.setLength(i, document, length);
      if (length === 0) continue;
      for (const [term, frequency] of frequencies) lists.append(term, document, frequency, length);
    }
  }

  setLength(kept: number, document: number, length: number): void {
    this.lengths[kept] = grownUint32(this.lengths[kept], document + 1);
    this.lengths[kept][document] = length;
    this.totals[kept] += length;
  }

  remove(document: number): void {
    for (const [i, lists] of this.lists.entries()) {
      lists.forgetDocument(document);
      this.totals[i] -= this.lengths[i][document] ?? 0;
    }
  }

  /** Drops a term that no document has. */
  clear(term: number): void {
    for (const lists of this.lists) lists.clear(term);
  }

  /** As PostingLists. */
  beginRewrite(renumbered: Uint32Array): void {
    for (const [i, lists] of this.lists.entries()) {
      lists.beginRewrite(renumbered);
      const lengths = this.lengths[i];
      const count = Math.min(renumbered.length, lengths.length);
      // Numbers only fall.
      for (let document = 0; document < count; document++)
        if (renumbered[document] < count) lengths[renumbered[document]] = lengths[document];
    }
  }

  get isRewriting(): boolean {
    return this.lists.some((lists) => lists.isRewriting);
  }

  rewriteSome(postings: number): void {
    for (const lists of this.lists) lists.rewriteSome(postings);
  }

  /** The length of a document with other weights; `length`: with those of the index. */
  lengthOf(document: number, length: number, asked: readonly number[]): number {
    return this.weighed(length, asked, (kept) => this.lengths[kept][document] ?? 0);
  }

  /** The same of all documents together. */
  totalOf(total: number, asked: readonly number[]): number {
    return this.weighed(total, asked, (kept) => this.totals[kept]);
  }

  private weighed(sum: number, asked: readonly number[], own: (kept: number) => number): number {
    let left = sum;
    let weighed = 0;
    for (let i = 0; i < this.kept.length; i++) {
      const count = own(i);
      left -= this.weights[this.kept[i]] * count;
      weighed += asked[this.kept[i]] * count;
    }
    return weighed + (asked[this.rest] * left) / this.weights[this.rest];
  }

  get memoryBytes(): number {
    return (
      this.lists.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0) +
      this.lengths.reduce((sum, { byteLength }) => sum + byteLength, 0)
    );
  }
}
