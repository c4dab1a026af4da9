import { grownUint32 } from './growable';
import { TermLists } from './term-lists';

/** No document, or a removed one. */
export const NO_DOCUMENT = 0xffffffff;

/**
 * The documents of a keyword index. Document numbers are given in ascending order, each once; a document lives as long
 * as its slot holds that text. So postings, which are lists of document numbers, are only appended to. {@link renumber}
 * closes the gaps of dead documents when there are too many.
 */
export class DocumentTable {
  /** One more than the highest number given. */
  count = 0;
  liveCount = 0;
  /** Sum of the lengths of the live documents, in terms. */
  totalLength = 0;
  /** By document: its slot. */
  slots: Uint32Array<ArrayBuffer> = new Uint32Array(64);
  /** By document: its length in terms; 0 once it is dead. */
  lengths: Uint32Array<ArrayBuffer> = new Uint32Array(64);
  private listPositions: Uint32Array<ArrayBuffer> = new Uint32Array(64);
  /** By slot: its document + 1, or 0. */
  private documents: Uint32Array<ArrayBuffer> = new Uint32Array(64);
  private readonly lists = new TermLists();
  /** How far moving the term lists after a renumbering has got; null when none is under way. */
  private slide: { document: number; end: number } | null = null;

  documentOf(slot: number): number {
    return slot < this.documents.length && this.documents[slot] !== 0 ? this.documents[slot] - 1 : NO_DOCUMENT;
  }

  /** Numbers a new document; the first `termCount` entries of `terms` are its distinct terms. */
  add(slot: number, length: number, terms: Uint32Array, termCount: number): number {
    const document = this.number(slot, length);
    this.listPositions[document] = this.lists.append(terms, termCount);
    return document;
  }

  /** Like {@link add}, for a document whose terms follow one by one with {@link setTerm}. */
  addWithoutTerms(slot: number, length: number, termCount: number): number {
    const document = this.number(slot, length);
    this.listPositions[document] = this.lists.appendEmpty(termCount);
    return document;
  }

  setTerm(document: number, index: number, term: number): void {
    this.lists.set(this.listPositions[document], index, term);
  }

  /** Calls `visit` with each distinct term of a live document. */
  forEachTerm(document: number, visit: (term: number) => void): void {
    const position = this.listPositions[document];
    const length = this.lists.length(position);
    for (let i = 0; i < length; i++) visit(this.lists.term(position, i));
  }

  /** How many distinct terms a live document has. */
  termCount(document: number): number {
    return this.lists.length(this.listPositions[document]);
  }

  /** Copies them into `target`, which has room for them, in no order that lasts. */
  copyTerms(document: number, target: Uint32Array): void {
    this.lists.copy(this.listPositions[document], target);
  }

  remove(document: number): void {
    this.documents[this.slots[document]] = 0;
    this.totalLength -= this.lengths[document];
    this.lengths[document] = 0;
    this.liveCount--;
  }

  /**
   * Gives the live documents new numbers without gaps, in the same order, and returns the new numbers by the old ones
   * ({@link NO_DOCUMENT} for dead documents). Takes some milliseconds per million; the term lists follow in small
   * steps.
   */
  renumber(): Uint32Array {
    const { count, slots, lengths, listPositions, documents } = this;
    const renumbered = new Uint32Array(count);
    let next = 0;
    for (let document = 0; document < count; document++) {
      const length = lengths[document];
      if (length === 0) {
        renumbered[document] = NO_DOCUMENT;
        continue;
      }
      renumbered[document] = next;
      slots[next] = slots[document];
      lengths[next] = length;
      listPositions[next] = listPositions[document];
      documents[slots[next]] = ++next;
    }
    this.count = next;
    this.slide = { document: 0, end: 0 };
    return renumbered;
  }

  /**
   * Has another table be of the same documents, with lengths of its own, until the next change; it can't tell their
   * terms.
   */
  showIn(other: DocumentTable): void {
    other.count = this.count;
    other.liveCount = this.liveCount;
    other.slots = this.slots;
    other.documents = this.documents;
  }

  get isSliding(): boolean {
    return this.slide !== null;
  }

  /** Closes the gaps between the term lists of up to `documents` documents after a renumbering. */
  slideLists(documents: number): void {
    const slide = this.slide;
    if (slide === null) return;
    const last = Math.min(this.count, slide.document + documents);
    for (; slide.document < last; slide.document++) {
      if (this.lengths[slide.document] === 0) continue;
      const position = this.listPositions[slide.document];
      this.listPositions[slide.document] = slide.end;
      slide.end = this.lists.moveDown(position, slide.end);
    }
    if (slide.document === this.count) {
      this.lists.truncate(slide.end);
      this.slide = null;
    }
  }

  get memoryBytes(): number {
    const tables = this.slots.length + this.lengths.length + this.listPositions.length + this.documents.length;
    return tables * 4 + this.lists.memoryBytes;
  }

  /** Number of bits of a bitmap over the slots in use. */
  get slotCapacity(): number {
    return this.documents.length;
  }

  private number(slot: number, length: number): number {
    const document = this.count++;
    this.slots = grownUint32(this.slots, this.count);
    this.lengths = grownUint32(this.lengths, this.count);
    this.listPositions = grownUint32(this.listPositions, this.count);
    this.documents = grownUint32(this.documents, slot + 1);
    this.slots[document] = slot;
    this.lengths[document] = length;
    this.documents[slot] = document + 1;
    this.liveCount++;
    this.totalLength += length;
    return document;
  }
}
