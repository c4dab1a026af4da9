import { NO_DOCUMENT } from './document-table';
import type { PostingLists } from './posting-lists';
import { LONG_FREQUENCY, placeOfDocument, type PostingView } from './posting-view';

/** Reads a posting list by jumps; its position only moves forward. It is valid until the next change of the index. */
export class PostingReader {
  private readonly documents: Uint32Array;
  private readonly frequencies: Uint8Array;
  private readonly end: number;
  private position: number;

  /** `view`: of another list of documents, whose frequencies it does not tell. */
  constructor(
    private readonly lists: PostingLists,
    readonly term: number,
    view: PostingView = lists.view(term),
  ) {
    this.documents = view.documents;
    this.frequencies = view.frequencies;
    this.position = view.start;
    this.end = view.end;
  }

  /** Postings that are left. */
  get left(): number {
    return this.end - this.position;
  }

  /** The next document, or NO_DOCUMENT at the end. */
  get next(): number {
    return this.position < this.end ? this.documents[this.position] : NO_DOCUMENT;
  }

  /** How often the term is in the document `next`. */
  get frequency(): number {
    const stored = this.frequencies[this.position];
    return stored === LONG_FREQUENCY ? this.lists.longFrequency(this.term, this.documents[this.position]) : stored;
  }

  /** Moves past the posting of `next`. */
  advance(): void {
    this.position++;
  }

  /** How often the term is in a document. Documents must be asked for in ascending order. */
  frequencyIn(document: number): number {
    this.seek(document);
    return this.next === document ? this.frequency : 0;
  }

  /** Moves past the next documents before `end` and copies them, as many as fit; answers how many. */
  copy(into: Uint32Array, end: number): number {
    const { documents, position } = this;
    const most = Math.min(into.length, this.left);
    let count = 0;
    while (count < most && documents[position + count] < end) {
      into[count] = documents[position + count];
      count++;
    }
    this.position = position + count;
    return count;
  }

  /** Moves to the first posting that is not before `document`. */
  seek(document: number): void {
    this.position = placeOfDocument(this.documents, this.position, this.end, document);
  }
}

/** The least of what they have of a document; 0 of none. Documents must be asked for in ascending order. */
export function leastFrequencyIn(readers: readonly PostingReader[], document: number): number {
  let least = Infinity;
  for (let i = 0; i < readers.length && least > 0; i++) least = Math.min(least, readers[i].frequencyIn(document));
  return least === Infinity ? 0 : least;
}
