import { grownUint32 } from './growable';
import { PostingLists } from './posting-lists';
import type { PostingView } from './posting-view';

const NONE: PostingView = { documents: new Uint32Array(0), frequencies: new Uint8Array(0), start: 0, end: 0 };

/**
 * The postings of one field, by the index's numbers of terms. Most terms are in few of the fields, so a field numbers
 * those that it has: of the others, it has 4 bytes at most, and nothing if it has none.
 */
export class FieldLists {
  private readonly lists = new PostingLists();
  /** By the index's number: 1 + the own one; 0: it has none. */
  private numbers: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  private readonly freeNumbers: number[] = [];
  private numberCount = 0;

  /** As the rest: PostingLists. */
  view(term: number): PostingView {
    const number = this.numberOf(term);
    return number < 0 ? NONE : this.lists.view(number);
  }

  longFrequency(term: number, document: number): number {
    return this.lists.longFrequency(this.numberOf(term), document);
  }

  append(term: number, document: number, frequency: number, documentLength: number): void {
    this.lists.append(this.numberFor(term), document, frequency, documentLength);
  }

  /** Where to fill the list of a term. */
  toFill(term: number): { term: number; lists: PostingLists } {
    return { term: this.numberFor(term), lists: this.lists };
  }

  clear(term: number): void {
    const number = this.numberOf(term);
    if (number < 0) return;
    this.lists.clear(number);
    this.numbers[term] = 0;
    this.freeNumbers.push(number);
  }

  forgetDocument(document: number): void {
    this.lists.forgetDocument(document);
  }

  beginRewrite(renumbered: Uint32Array): void {
    this.lists.beginRewrite(renumbered, this.numberCount);
  }

  get isRewriting(): boolean {
    return this.lists.isRewriting;
  }

  rewriteSome(postings: number): void {
    this.lists.rewriteSome(postings);
  }

  get memoryBytes(): number {
    return this.lists.memoryBytes + this.numbers.byteLength;
  }

  /** Less than 0: it has none. */
  private numberOf(term: number): number {
    return term < this.numbers.length ? this.numbers[term] - 1 : -1;
  }

  private numberFor(term: number): number {
    const known = this.numberOf(term);
    if (known >= 0) return known;
    const number = this.freeNumbers.pop() ?? this.numberCount++;
    this.lists.reserve(number + 1);
    this.numbers = grownUint32(this.numbers, term + 1);
    this.numbers[term] = number + 1;
    return number;
  }
}
