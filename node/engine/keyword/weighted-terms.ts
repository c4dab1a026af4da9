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

/** Postings that are weighed, before they have a place; shared, because nothing has a break while it uses them. */
let foundDocuments = new Uint32Array(1024);
let foundFrequencies = new Uint32Array(1024);

/**
 * What searches by other weights of the fields read in the place of an index: its documents with other lengths, and
 * lists with other frequencies of the terms that were asked for. A list is made when a query first looks for the term,
 * in one pass over those of the index, and goes on where these do. So it is searched as they are, with bounds as tight.
 * The index says what else becomes of documents and terms.
 */
export class WeightedTerms {
  /** Searches that use it. */
  users = 0;
  /** The index does not tell it of changes any more: what a search found meanwhile may be wrong. */
  isDropped = false;
  readonly source: TermSource;
  private readonly documents = new DocumentTable();
  private readonly lists = new PostingLists();
  /** By the index's number of the term. */
  private readonly known = new Map<number, OwnTerm>();
  /** By own number: 1 where there are postings. */
  private arePostings: Uint32Array<ArrayBuffer> = new Uint32Array(0);
  private readonly freeNumbers: number[] = [];
  private numberCount = 0;
  /** Documents whose length is known. */
  private lengthCount = 0;

  constructor(
    private readonly index: IndexedFields,
    /** By field. */
    private readonly asked: readonly number[],
    changes: Pick<TermSource, 'numbering' | 'revision'>,
  ) {
    const find = (text: string) => this.find(text);
    const arePostings = () => this.arePostings;
    this.source = {
      documents: this.documents,
      dictionary: {
        find,
        get documentFrequencies() {
          return arePostings();
        },
      },
      lists: this.lists,
      numbering: changes.numbering,
      revision: changes.revision,
    };
    this.follow();
  }

  /** The index has changed. */
  follow(): void {
    const { documents, fields } = this.index;
    documents.showIn(this.documents);
    const { count, lengths } = documents;
    const own = (this.documents.lengths = grownUint32(this.documents.lengths, count));
    for (let document = this.lengthCount; document < count; document++)
      own[document] = lengths[document] === 0 ? 0 : fields.lengthOf(document, lengths[document], this.asked);
    this.lengthCount = count;
  }

  /** A document is gone. */
  forgetDocument(document: number): void {
    this.documents.lengths[document] = 0;
    this.lists.forgetDocument(document);
  }

  /** A number may be used for another term from now on. */
  forgetTerm(term: number): void {
    const own = this.known.get(term);
    if (own === undefined) return;
    this.lists.clear(own.number);
    this.arePostings[own.number] = 0;
    this.freeNumbers.push(own.number);
    this.known.delete(term);
  }

  /** Documents have other numbers. */
  reset(): void {
    for (const term of [...this.known.keys()]) this.forgetTerm(term);
    this.lengthCount = 0;
    this.follow();
  }

  get memoryBytes(): number {
    return this.lists.memoryBytes + this.documents.lengths.byteLength + this.known.size * 64;
  }

  private find(text: string): number | undefined {
    const { dictionary, fields } = this.index;
    const term = dictionary.find(text);
    if (term === undefined || dictionary.documentFrequencies[term] === 0) return undefined;
    let own = this.known.get(term);
    if (own === undefined) {
      own = { number: this.freeNumber(), taken: 0, takenOfKept: fields.kept.map(() => 0) };
      this.known.set(term, own);
    }
    this.extend(term, own);
    return own.number;
  }

  private freeNumber(): number {
    const number = this.freeNumbers.pop() ?? this.numberCount++;
    this.lists.reserve(number + 1);
    this.arePostings = grownUint32(this.arePostings, number + 1);
    return number;
  }

  /** Takes over the postings that the index has more than are known. */
  private extend(term: number, own: OwnTerm): void {
    const { documents, lists, dictionary, fields } = this.index;
    const { documents: listed, frequencies, start, end } = lists.view(term);
    const first = start + own.taken;
    if (first === end) return;
    const { lengths } = this.documents;
    const kept = fields.kept.map((field, i) => {
      fields.lists[i].reserve(dictionary.count);
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
    if (count === 0) return;
    if (this.arePostings[own.number] === 0) this.fill(own.number, count, lengths);
    else
      for (let i = 0; i < count; i++)
        this.lists.append(own.number, foundDocuments[i], foundFrequencies[i], lengths[foundDocuments[i]]);
    this.arePostings[own.number] = 1;
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
