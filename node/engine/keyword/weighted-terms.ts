import { DocumentTable } from './document-table';
import type { FieldPostings } from './field-postings';
import { grownUint32 } from './growable';
import { PostingLists } from './posting-lists';
import { LONG_FREQUENCY } from './posting-view';
import type { TermDictionary } from './term-dictionary';
import type { TermSource } from './term-slots';

/** An index by the weights that it has. */
export interface IndexedFields {
  documents: DocumentTable;
  dictionary: TermDictionary;
  lists: PostingLists;
  fields: FieldPostings;
}

/** A term with other weights: its number here, and how many postings of each list of the index are in it. */
interface OwnTerm {
  number: number;
  taken: number;
  takenOfKept: number[];
}

/** Postings that are weighed, or lengths, in one step: a part of a millisecond. */
const POSTINGS_PER_STEP = 1 << 15;

/** Postings that are weighed, before they have a place; shared, because nothing has a break while it uses them. */
let foundDocuments = new Uint32Array(1024);
let foundFrequencies = new Uint32Array(1024);

/**
 * What searches by other weights of the fields read in the place of an index: its documents with other lengths, and
 * lists with other frequencies of the terms that were asked for. A list is made before a query first looks for the
 * term, in one pass over those of the index, and goes on where these do. So it is searched as they are, with bounds as
 * tight. A document that has nothing in the fields that count is none here. The index says what else becomes of
 * documents and terms.
 */
export class WeightedTerms {
  /** Searches that use it. */
  users = 0;
  /** The index does not tell it of changes any more: what a search found meanwhile may be wrong. */
  isDropped = false;
  readonly source: TermSource;
  private readonly documents = new DocumentTable();
  private readonly lists = new PostingLists();
  /** By the index's number of the term; the one that was asked for last is the last. */
  private readonly known = new Map<number, OwnTerm>();
  /** By own number: the live documents that have it in a field that counts. */
  private frequencies: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  private readonly freeNumbers: number[] = [];
  private numberCount = 0;
  /** Documents whose length is known. */
  private lengthCount = 0;
  /** Those of them that are live and have terms. */
  private liveCount = 0;

  constructor(
    private readonly index: IndexedFields,
    /** By field. */
    private readonly asked: readonly number[],
    changes: Pick<TermSource, 'numbering' | 'revision'>,
  ) {
    const find = (text: string) => this.find(text);
    const frequencies = () => this.frequencies;
    this.source = {
      documents: this.documents,
      dictionary: {
        find,
        get documentFrequencies() {
          return frequencies();
        },
      },
      lists: this.lists,
      numbering: changes.numbering,
      revision: changes.revision,
    };
    this.follow();
  }

  /** Makes lists of terms ready for a search, in steps: then it makes only what has come since. */
  *prepare(texts: readonly string[]): Generator<undefined, void> {
    const { dictionary } = this.index;
    for (const text of texts) {
      const term = dictionary.find(text);
      const own = term === undefined ? undefined : this.known.get(term);
      if (own === undefined) continue;
      this.known.delete(term!);
      this.known.set(term!, own);
    }
    while (!this.isDropped && this.takeSome(texts)) yield;
  }

  /** The index has changed. */
  follow(): void {
    this.index.documents.showIn(this.documents);
    // The first lengths are taken in steps.
    if (this.lengthCount > 0) this.takeLengths(POSTINGS_PER_STEP);
    this.documents.liveCount = this.liveCount;
  }

  /** A document that has the term in some field is about to go. */
  forgetPosting(term: number, document: number): void {
    const own = this.known.get(term);
    if (own === undefined) return;
    const { documents, start, end } = this.lists.view(own.number);
    let low = start;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (documents[middle] < document) low = middle + 1;
      else high = middle;
    }
    if (low < end && documents[low] === document) this.frequencies[own.number] -= 1;
  }

  /** A document is gone. */
  forgetDocument(document: number): void {
    if (document < this.lengthCount && this.documents.lengths[document] > 0) this.liveCount -= 1;
    this.documents.lengths[document] = 0;
    this.lists.forgetDocument(document);
  }

  /** A number may be used for another term from now on. */
  forgetTerm(term: number): void {
    const own = this.known.get(term);
    if (own === undefined) return;
    this.lists.clear(own.number);
    this.frequencies[own.number] = 0;
    this.freeNumbers.push(own.number);
    this.known.delete(term);
  }

  /** Documents have other numbers. */
  reset(): void {
    for (const term of [...this.known.keys()]) this.forgetTerm(term);
    this.lengthCount = 0;
    this.liveCount = 0;
    this.follow();
  }

  /** Drops the lists that were not asked for the longest, until it has so many bytes, or none is left. */
  shrink(bytes: number): void {
    for (const term of [...this.known.keys()]) {
      if (this.memoryBytes <= bytes) return;
      this.forgetTerm(term);
    }
  }

  get memoryBytes(): number {
    return this.lists.memoryBytes + this.documents.lengths.byteLength + this.known.size * 64;
  }

  private find(text: string): number | undefined {
    this.takeLengths(Infinity);
    const { dictionary } = this.index;
    const term = dictionary.find(text);
    if (term === undefined || dictionary.documentFrequencies[term] === 0) return undefined;
    const own = this.ownOf(term);
    this.extend(term, own, Infinity);
    return own.number;
  }

  /** Takes over some of what is missing; whether more may be. */
  private takeSome(texts: readonly string[]): boolean {
    const { dictionary } = this.index;
    let left = POSTINGS_PER_STEP - this.takeLengths(POSTINGS_PER_STEP);
    for (const text of texts) {
      if (left <= 0) return true;
      const term = dictionary.find(text);
      if (term !== undefined && dictionary.documentFrequencies[term] > 0)
        left -= this.extend(term, this.ownOf(term), left);
    }
    return left <= 0;
  }

  /** Of so many documents at most; answers of how many. */
  private takeLengths(most: number): number {
    const { documents, fields } = this.index;
    const { count, lengths } = documents;
    const first = this.lengthCount;
    const end = Math.min(count, first + most);
    if (first === end) return 0;
    const own = (this.documents.lengths = grownUint32(this.documents.lengths, count));
    for (let document = first; document < end; document++) {
      own[document] = lengths[document] === 0 ? 0 : fields.lengthOf(document, lengths[document], this.asked);
      if (own[document] > 0) this.liveCount += 1;
    }
    this.lengthCount = end;
    this.documents.liveCount = this.liveCount;
    return end - first;
  }

  private ownOf(term: number): OwnTerm {
    let own = this.known.get(term);
    if (own === undefined) {
      own = { number: this.freeNumber(), taken: 0, takenOfKept: this.index.fields.kept.map(() => 0) };
      this.known.set(term, own);
    }
    return own;
  }

  private freeNumber(): number {
    const number = this.freeNumbers.pop() ?? this.numberCount++;
    this.lists.reserve(number + 1);
    this.frequencies = grownUint32(this.frequencies, number + 1);
    return number;
  }

  /** Takes over postings that the index has more than are known, at most so many; answers how many it looked at. */
  private extend(term: number, own: OwnTerm, most: number): number {
    const { documents, lists, fields } = this.index;
    const { documents: listed, frequencies, start, end: all } = lists.view(term);
    const first = start + own.taken;
    const end = Math.min(all, first + most);
    if (first === end) return 0;
    const { lengths } = this.documents;
    const kept = fields.kept.map((field, i) => {
      return {
        ...fields.lists[i].view(term),
        lists: fields.lists[i],
        weight: fields.weights[field],
        asked: this.asked[field],
      };
    });
    const restWeight = fields.weights[fields.rest];
    const restAsked = this.asked[fields.rest];
    foundDocuments = grownUint32(foundDocuments, end - first);
    foundFrequencies = grownUint32(foundFrequencies, end - first);
    let count = 0;
    for (let at = first; at < end; at++) {
      const document = listed[at];
      if (documents.lengths[document] === 0) continue;
      let left = frequencies[at] === LONG_FREQUENCY ? lists.longFrequency(term, document) : frequencies[at];
      let weighed = 0;
      for (let i = 0; i < kept.length; i++) {
        const field = kept[i];
        let place = field.start + own.takenOfKept[i];
        while (place < field.end && field.documents[place] < document) place++;
        if (place < field.end && field.documents[place] === document) {
          const stored = field.frequencies[place++];
          const frequency = stored === LONG_FREQUENCY ? field.lists.longFrequency(term, document) : stored;
          left -= field.weight * frequency;
          weighed += field.asked * frequency;
        }
        own.takenOfKept[i] = place - field.start;
      }
      weighed += (restAsked * left) / restWeight;
      if (weighed === 0) continue;
      foundDocuments[count] = document;
      foundFrequencies[count++] = weighed;
    }
    own.taken = end - start;
    if (count === 0) return end - first;
    if (this.lists.length(own.number) === 0) this.fill(own.number, count, lengths);
    else
      for (let i = 0; i < count; i++)
        this.lists.append(own.number, foundDocuments[i], foundFrequencies[i], lengths[foundDocuments[i]]);
    this.frequencies[own.number] += count;
    return end - first;
  }

  /** Makes a list of what was found. */
  private fill(number: number, count: number, lengths: Uint32Array): void {
    const { documents, frequencies, start } = this.lists.allocate(number, count);
    let frequencyMax = 0;
    let lengthMin = 0xffffffff;
    for (let i = 0; i < count; i++) {
      const document = foundDocuments[i];
      const frequency = foundFrequencies[i];
      documents[start + i] = document;
      frequencies[start + i] = Math.min(frequency, LONG_FREQUENCY);
      if (frequency >= LONG_FREQUENCY) this.lists.keepLongFrequency(number, document, frequency);
      if (frequency > frequencyMax) frequencyMax = frequency;
      if (lengths[document] < lengthMin) lengthMin = lengths[document];
    }
    this.lists.widenBounds(number, frequencyMax, lengthMin);
  }
}
