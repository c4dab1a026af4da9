import type { JsonObject, WordsCondition } from '../../../shared/contract/filter/filter';
import { type KeywordFields, TEXT_FIELD } from '../../../shared/contract/shard/keyword-fields';
import type { Expiry } from '../../../shared/contract/writes/expiry';
import type { Analyser } from '../../../shared/base/text/analyser';
import type { FilteredItems, FilterIndex } from '../filter/filter-index';
import type { AnalysedText, KeywordIndex } from '../keyword/keyword-index';
import type { ItemFacts } from '../filter/matches';
import { keywordTexts } from '../keyword/keyword-text';
import { keepTerms } from './reading/keyword-expansions';
import { itemHasWords } from '../keyword/word-conditions';
import type { PhraseMatches } from './reading/phrase-matches';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { Directory } from '../directory/directory';
import type { VectorIndex, VectorIndexOptions } from '../vector/vector-index';

/** Makes the indexes of a shard; the composition root chooses the implementations. */
export interface IndexFactories {
  /** `save` null: an empty index. Rejects if the save can't be used. */
  openVectorIndex(options: VectorIndexOptions, save: string | null): Promise<VectorIndex>;
  /** `bytes` null: an empty index. Rejects malformed bytes. `items` answer for slots put before. */
  loadFilterIndex(bytes: Buffer | null, items: FilteredItems): Promise<FilterIndex>;
  /** `bytes` null: an empty index. Rejects bytes that were not saved by an index with this analyser. */
  loadKeywordIndex(bytes: Buffer | null, analyser: Analyser, fields: KeywordFields | undefined): Promise<KeywordIndex>;
}

/** All indexes in memory. They can be made again from the records, and are kept consistent with each other. */
export interface ShardIndexes {
  directory: Directory;
  vectors: VectorIndex;
  filters: FilterIndex;
  keywords: KeywordIndex;
  phrases: PhraseMatches;
}

/** An item's parsed metadata and analysed text, made in advance so that putting the item is quick. */
export interface PreparedContent {
  /** The parsed metadata. Metadata that can't be parsed must have been refused before. */
  parsed: JsonObject;
  analysed: AnalysedText;
}

/** An item that is about to be put into the indexes. */
export interface IndexedItem extends PreparedContent {
  slot: number;
  recno: number;
  externalId: string;
  stamp: number;
  version: number;
  /** 0: never. */
  expiry: Expiry;
  /** Whether the version tells when it changed. */
  dated: boolean;
  metadata: string;
  text: string | null;
  vector: Float32Array;
}

/** What filters ask of an item besides its metadata, as long as it is in its slot. */
export function itemFacts(
  { directory, keywords, phrases }: Pick<ShardIndexes, 'directory' | 'keywords' | 'phrases'>,
  slot: number,
): ItemFacts {
  const { externalId, expiry, updatedMs } = directory.factsOf(slot);
  return {
    externalId,
    expiry,
    updatedMs,
    hasWords: (condition, metadata) =>
      condition.paths === undefined
        ? condition.match === 'phrase'
          ? phrases.has(slot, condition)
          : keywords.hasWords(slot, condition)
        : itemHasWords(condition, keywords, { text: null, metadata }),
  };
}

/** The slots whose items may have the words; of words under paths, the metadata tell. In steps. */
export function* slotsWithWords(
  { directory, keywords, phrases }: Pick<ShardIndexes, 'directory' | 'keywords' | 'phrases'>,
  condition: WordsCondition,
): Generator<undefined, ChunkedSlotSet> {
  const { paths, match } = condition;
  if (paths === undefined && match === 'phrase') return yield* phrases.slotsInSteps(condition);
  const { fields } = keywords;
  const areIndexed = paths === undefined || fields === undefined || paths.every((path) => isPathOf(fields, path));
  if (areIndexed && condition.stands !== undefined) keepTerms(keywords);
  if (areIndexed) return yield* keywords.slotsWithWords(condition);
  const slots: number[] = [];
  for (const slot of directory.liveSlots()) if (slots.push(slot) % SLOTS_PER_STEP === 0) yield;
  return ChunkedSlotSet.fromSorted(slots);
}

function isPathOf(fields: KeywordFields, path: string): boolean {
  return path !== TEXT_FIELD && fields.some((field) => field.path === path);
}

/** Listed in a fraction of a millisecond. */
const SLOTS_PER_STEP = 16_384;

const EMPTY_METADATA: JsonObject = {};

/** The parsed form of stored metadata; `{}` is by far the most common. */
export function parsedMetadata(metadata: string): JsonObject {
  return metadata === '{}' ? EMPTY_METADATA : (JSON.parse(metadata) as JsonObject);
}

/** Parses and analyses items without changing the answers of any index, in steps of some hundred microseconds. */
export function* prepareItems(
  keywords: KeywordIndex,
  items: { metadata: string; parsed?: JsonObject | undefined; text: string | null }[],
): Generator<undefined, PreparedContent[]> {
  const prepared: PreparedContent[] = [];
  for (const { metadata, text, parsed = parsedMetadata(metadata) } of items) {
    prepared.push({ parsed, analysed: yield* keywords.analyse(keywordTexts(text, parsed, keywords.fields)) });
    yield;
  }
  return prepared;
}

/** Removes slots from every index. Hidden ones are in the directory only. */
export function removeFromIndexes(indexes: ShardIndexes, slots: number[]): void {
  if (slots.length === 0) return;
  const { directory } = indexes;
  removeFromSearches(indexes, directory.hiddenCount === 0 ? slots : slots.filter((slot) => !directory.isHidden(slot)));
  for (const slot of slots) directory.remove(slot);
}

/** Takes live slots out of every index but the directory, where they are hidden. */
export function hideInIndexes(indexes: ShardIndexes, slots: number[]): void {
  if (slots.length === 0) return;
  const { directory } = indexes;
  directory.changes.begin();
  removeFromSearches(indexes, slots);
  for (const slot of slots) directory.hide(slot);
  directory.changes.end();
}

function removeFromSearches({ directory, vectors, filters, keywords, phrases }: ShardIndexes, slots: number[]): void {
  vectors.remove(Uint32Array.from(slots));
  for (const slot of slots) {
    phrases.remove(slot);
    filters.remove(slot, parsedMetadata(directory.metadataOf(slot)));
    keywords.remove(slot);
  }
}

/**
 * Puts items into empty slots of every index. The directory comes before the vectors, so that another thread that finds
 * a vector finds its item, too (SharedShard).
 */
export function addToIndexes(indexes: ShardIndexes, items: IndexedItem[], dim: number): void {
  if (items.length === 0) return;
  for (const { slot, externalId, recno, stamp, version, expiry, dated, metadata, text } of items) {
    indexes.directory.put(slot, { externalId, recno, stamp, version, expiry, dated, metadata, hasText: text !== null });
  }
  try {
    addVectors(indexes.vectors, items, dim);
  } catch (error) {
    // The only step that fails, on a full disk: then nothing of it is left.
    for (const item of items) indexes.directory.remove(item.slot);
    throw error;
  }
  for (const item of items) {
    // The filters may ask for its words.
    indexes.keywords.putAnalysed(item.slot, item.analysed);
    indexes.phrases.put(item.slot);
    indexes.filters.put(item.slot, item.parsed);
  }
}

/**
 * Where the vectors of a batch stand one after the other. Fresh memory for each batch would cost more than the copy.
 */
let gathered = new Float32Array(0);
/** 4 MiB. A larger batch has memory of its own. */
const GATHERED_MAX = 1024 * 1024;

export function addVectors(vectors: VectorIndex, items: { slot: number; vector: Float32Array }[], dim: number): void {
  const size = items.length * dim;
  if (size > gathered.length && size <= GATHERED_MAX) gathered = new Float32Array(size);
  const rows = size > GATHERED_MAX ? new Float32Array(size) : gathered.subarray(0, size);
  const slots = new Uint32Array(items.length);
  for (let i = 0; i < items.length; i++) {
    const { slot, vector } = items[i];
    slots[i] = slot;
    rows.set(vector, i * dim);
  }
  vectors.put(slots, rows);
}
