import type { Analyser } from '../../../shared/base/text/analyser';
import { VarintReader } from './varint-reader';
import { VarintWriter } from './varint-writer';
import { type DocumentTable, NO_DOCUMENT } from './document-table';
import type { FieldPostings } from './field-postings';
import type { PostingLists } from './posting-lists';
import { LONG_FREQUENCY, type PostingView } from './posting-view';
import type { TermDictionary } from './term-dictionary';

/** What terms come from: an analyser, with another name where it is given some fields alone. */
export type TermOrigin = Pick<Analyser, 'name' | 'version'>;

/** The parts of an index. */
export interface KeywordTables {
  documents: DocumentTable;
  dictionary: TermDictionary;
  lists: PostingLists;
  /** null: it is not given fields. */
  fields: FieldPostings | null;
}

const FORMAT = 'quiver-keyword-1';
/** Of an index that keeps what some fields have. */
const FIELDS_FORMAT = 'quiver-keyword-2';
/** Bytes per chunk: about two milliseconds of work, after which other calls may run. */
const CHUNK_BYTES = 1 << 18;

// The format, all numbers varints: FORMAT, analyser name, analyser version, number of documents, per document: slot,
// length (document n of the save is the n-th of these) per term: text (not empty), number of postings, per posting: 2 ·
// gap + (1 if the frequency is 1), else the frequency the empty text, and the number of terms. A gap is the document
// less the one before it, less 1. FIELDS_FORMAT: behind the length of a document its lengths in the kept fields; behind
// the postings of a term, for each of these their number, which may be 0, and the postings there.

/**
 * Writes the documents that are live at the first step. Between steps documents may come and go: new ones are left out,
 * removed ones may still be written in full or in part. Document numbers must not change meanwhile.
 */
export function* writeKeywordSave(analyser: TermOrigin, tables: KeywordTables): Iterable<Buffer> {
  const { documents, dictionary, lists } = tables;
  const writer = new VarintWriter();
  const fields = keptFields(tables);
  writer.text(fields === null ? FORMAT : FIELDS_FORMAT);
  writer.text(analyser.name);
  writer.varint(analyser.version);
  writer.varint(documents.liveCount);
  const saved = new Uint32Array(documents.count).fill(NO_DOCUMENT);
  let savedCount = 0;
  for (let document = 0; document < saved.length; document++) {
    if (documents.lengths[document] === 0) continue;
    saved[document] = savedCount++;
    writer.varint(documents.slots[document]);
    writer.varint(documents.lengths[document]);
    if (fields !== null) for (const lengths of fields.lengths) writer.varint(lengths[document] ?? 0);
  }
  let termCount = 0;
  for (let term = 0; term < dictionary.count; term++) {
    if (writer.length >= CHUNK_BYTES) yield writer.take();
    const text = dictionary.text(term);
    if (text === undefined) continue;
    if (!writePostings(writer, text, term, saved, lists)) continue;
    termCount++;
    if (fields === null) continue;
    for (const own of fields.lists) writeList(writer, term, saved, own);
  }
  writer.text('');
  writer.varint(termCount);
  yield writer.take();
}

function keptFields({ fields }: KeywordTables): FieldPostings | null {
  return fields === null || fields.kept.length === 0 ? null : fields;
}

/** Writes one term with its postings of documents in the save; nothing if there are none. */
function writePostings(
  writer: VarintWriter,
  text: string,
  term: number,
  saved: Uint32Array,
  lists: PostingLists,
): boolean {
  if (savedCountOf(lists.view(term), saved) === 0) return false;
  writer.text(text);
  writeList(writer, term, saved, lists);
  return true;
}

function savedCountOf({ documents, start, end }: PostingView, saved: Uint32Array): number {
  let count = 0;
  for (let i = start; i < end; i++) if (documents[i] < saved.length && saved[documents[i]] !== NO_DOCUMENT) count++;
  return count;
}

function writeList(
  writer: VarintWriter,
  term: number,
  saved: Uint32Array,
  lists: Pick<PostingLists, 'view' | 'longFrequency'>,
): void {
  const view = lists.view(term);
  const { documents, frequencies, start, end } = view;
  writer.varint(savedCountOf(view, saved));
  let previous = -1;
  for (let i = start; i < end; i++) {
    const document = documents[i] < saved.length ? saved[documents[i]] : NO_DOCUMENT;
    if (document === NO_DOCUMENT) continue;
    const gap = document - previous - 1;
    previous = document;
    const frequency = frequencies[i] === LONG_FREQUENCY ? lists.longFrequency(term, documents[i]) : frequencies[i];
    writer.varint(gap * 2 + (frequency === 1 ? 1 : 0));
    if (frequency !== 1) writer.varint(frequency);
  }
}

/**
 * Fills empty tables from a save, one term per step. Checks everything that later code relies on: numbers in range,
 * documents ascending, no slot and no term twice, nothing after the end. Errors: QuiverError `storage_failed`.
 */
export function* readKeywordSave(
  bytes: Buffer,
  analyser: TermOrigin,
  tables: KeywordTables,
): Generator<undefined, void> {
  const reader = new VarintReader(bytes);
  const fields = keptFields(tables);
  if (reader.text() !== (fields === null ? FORMAT : FIELDS_FORMAT)) reader.refuse('not a save of this version');
  if (reader.text() !== analyser.name || reader.varint() !== analyser.version)
    reader.refuse('its terms are of another analyser');
  const table = readDocuments(reader, fields);
  yield* readTerms(reader, table, tables);
  yield* buildTermLists(table, tables);
}

interface SavedDocuments {
  slots: Uint32Array;
  lengths: Uint32Array;
  /** By document: how many distinct terms it has, counted while the terms are read. */
  termCounts: Uint32Array;
}

function readDocuments(reader: VarintReader, fields: FieldPostings | null): SavedDocuments {
  // Each document takes at least two bytes, so a damaged count can't cause a huge allocation.
  const count = reader.bounded(reader.remaining / 2, 'more documents than bytes');
  const slots = new Uint32Array(count);
  const lengths = new Uint32Array(count);
  for (let document = 0; document < count; document++) {
    slots[document] = reader.bounded(0xfffffffe, 'a slot out of range');
    lengths[document] = reader.bounded(0xffffffff, 'a length out of range');
    if (lengths[document] === 0) reader.refuse('a document without terms');
    if (fields !== null)
      for (const kept of fields.kept.keys())
        fields.setLength(kept, document, reader.bounded(lengths[document], 'a length out of range'));
  }
  const sorted = slots.slice().sort();
  for (let i = 1; i < count; i++) if (sorted[i] === sorted[i - 1]) reader.refuse('a slot twice');
  return { slots, lengths, termCounts: new Uint32Array(count) };
}

function* readTerms(reader: VarintReader, table: SavedDocuments, tables: KeywordTables): Generator<undefined, void> {
  const { dictionary, lists } = tables;
  const documentCount = table.slots.length;
  for (let text = reader.text(); text !== ''; text = reader.text()) {
    const term = dictionary.intern(text);
    if (term !== dictionary.count - 1 || dictionary.documentFrequencies[term] > 0) reader.refuse('a term twice');
    const count = reader.bounded(documentCount, 'more postings than documents');
    if (count === 0) reader.refuse('a term without postings');
    dictionary.documentFrequencies[term] = count;
    lists.reserve(term + 1);
    readPostings(reader, { term, count, lists }, table);
    const fields = keptFields(tables);
    if (fields !== null) {
      for (const own of fields.lists) {
        const ownCount = reader.bounded(count, 'more postings in a field than in all');
        if (ownCount > 0)
          readPostings(reader, { ...own.toFill(term), count: ownCount }, { ...table, termCounts: null });
      }
    }
    yield;
  }
  if (reader.varint() !== dictionary.count || reader.remaining > 0) reader.refuse('its end is not where it should be');
}

/** `termCounts` null: of a field. */
function readPostings(
  reader: VarintReader,
  { term, count, lists }: { term: number; count: number; lists: PostingLists },
  table: Omit<SavedDocuments, 'termCounts'> & { termCounts: Uint32Array | null },
): void {
  const { lengths, termCounts } = table;
  const { documents, frequencies, start } = lists.allocate(term, count);
  let document = -1;
  let frequencyMax = 0;
  let lengthMin = 0xffffffff;
  for (let i = start; i < start + count; i++) {
    const code = reader.varint();
    const isOne = code % 2 === 1;
    document += (isOne ? code - 1 : code) / 2 + 1;
    if (document >= lengths.length) reader.refuse('a document out of range');
    const length = lengths[document];
    const frequency = isOne ? 1 : reader.varint();
    if (frequency < 1 || frequency > length) reader.refuse('a frequency out of range');
    documents[i] = document;
    frequencies[i] = Math.min(frequency, LONG_FREQUENCY);
    if (frequency >= LONG_FREQUENCY) lists.keepLongFrequency(term, document, frequency);
    if (termCounts !== null) termCounts[document]++;
    if (frequency > frequencyMax) frequencyMax = frequency;
    if (length < lengthMin) lengthMin = length;
  }
  lists.widenBounds(term, frequencyMax, lengthMin);
}

/** Gives every document the list of its terms, which the save omits because the postings contain it. */
function* buildTermLists(table: SavedDocuments, tables: KeywordTables): Generator<undefined, void> {
  const { documents, dictionary, lists } = tables;
  const { slots, lengths, termCounts } = table;
  for (let document = 0; document < slots.length; document++) {
    documents.addWithoutTerms(slots[document], lengths[document], termCounts[document]);
  }
  const filled = new Uint32Array(slots.length);
  for (let term = 0; term < dictionary.count; term++) {
    const view = lists.view(term);
    for (let i = view.start; i < view.end; i++) {
      const document = view.documents[i];
      documents.setTerm(document, filled[document]++, term);
    }
    yield;
  }
}
