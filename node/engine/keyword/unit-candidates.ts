import type { SlotSet } from '../slots/slot-set';
import { type DocumentTable, NO_DOCUMENT } from './document-table';
import type { PostingReader } from './posting-reader';
import { placeInDocuments } from './posting-view';
import type { UnitReader } from './unit-reader';

/** Documents of one part at most. */
const PART = 1 << 12;

/** May be shared by all searches: none has a break while it uses them. */
const part = new Uint32Array(PART);
const isIn = new Uint8Array(PART);

/** Documents among which those are that a plan wants, in ascending order, each once. */
export interface Candidates {
  /** At most `count` next ones; none: there are no more. They are valid until the next call, of any candidates. */
  take(count: number): Uint32Array;
}

/** Documents of a list. */
export class ListedCandidates implements Candidates {
  private at: number;

  /** `from`: those before it are left out. */
  constructor(
    private readonly documents: Uint32Array,
    from: number,
  ) {
    this.at = placeInDocuments(documents, from);
  }

  take(count: number): Uint32Array {
    const taken = this.documents.subarray(this.at, this.at + count);
    this.at += taken.length;
    return taken;
  }
}

/** Documents that are in one of some posting lists. */
export class LeadingCandidates implements Candidates {
  constructor(
    private readonly readers: readonly PostingReader[],
    from: number,
    private readonly until: number,
  ) {
    for (const reader of readers) reader.seek(from);
  }

  take(most: number): Uint32Array {
    const { readers, until } = this;
    const size = Math.min(most, PART);
    if (readers.length === 1) return part.subarray(0, readers[0].copy(part.subarray(0, size), until));
    let first = NO_DOCUMENT;
    for (const { next } of readers) first = Math.min(first, next);
    const end = Math.min(first + size, until);
    let count = 0;
    for (const reader of readers)
      for (let document = reader.next; document < end; document = reader.next) {
        if (isIn[document - first] === 0) part[count++] = document;
        isIn[document - first] = 1;
        reader.advance();
      }
    const taken = part.subarray(0, count).sort();
    for (const document of taken) isIn[document - first] = 0;
    return taken;
  }
}

/** Of the slots that are allowed, the documents from `from` on and before `until`. */
export function documentsOf(allowed: SlotSet, documents: DocumentTable, from: number, until: number): Uint32Array {
  const found = allowed.toArray().map((slot) => documents.documentOf(slot));
  let isAscending = true;
  for (let i = 1; i < found.length && isAscending; i++) isAscending = found[i - 1] < found[i];
  if (!isAscending) found.sort();
  return found.subarray(placeInDocuments(found, from), placeInDocuments(found, until));
}

/**
 * The lists that lead to all documents that have `minimum` of the optional units: those of the rarest units, of which a
 * document can't lack all. Null: what has none may be wanted, too.
 */
export function leadingLists(units: readonly UnitReader[], minimum: number): PostingReader[] | null {
  if (minimum === 0) return null;
  const optional = units.filter(({ unit }) => unit.isOptional).sort((a, b) => a.documentsMax - b.documentsMax);
  return optional.slice(0, Math.max(0, optional.length - minimum + 1)).flatMap((unit) => unit.leading());
}
