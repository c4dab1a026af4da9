import type { JsonObject } from '../../../shared/contract/filter/filter';
import { chosenMetadata } from '../../../shared/contract/filter/chosen-metadata';
import { isBlankUnit } from '../documents/blank';
import { CHUNK_INDEX, DOCUMENT_ID } from '../documents/chunk-paths';
import { chunkId } from '../documents/document-chunks';
import type { Expansion } from '../search-request';
import type { HitContext } from '../service';

/** Pure: which chunks are around hits, and their text. */

/** Chunks of a window at most, or each of many hits in a long document would have all of it. */
export const WINDOW_CHUNKS_MAX = 64;
/** A context ends with the chunk that reaches so many characters. */
export const CONTEXT_CHARACTERS_MAX = 1024 * 1024;
/** Characters that two chunks are taken to share, at most. */
const SHARED_MAX = 64 * 1024;
/** So many equal characters are no accident, even within words. */
const SHARED_MIN = 16;

/** Longer than an id of an item, and sent to the shards. */
export const DOCUMENT_ID_CHARACTERS_MAX = 512;

/** Whose chunk an item is. */
export interface ChunkOwner {
  documentId: string | number;
  /** Whether its id is that of an upload: then its neighbours are found by their ids, and else by their metadata. */
  isNamed: boolean;
}

export interface ChunkPlace extends ChunkOwner {
  index: number;
}

/** Neighbouring chunks, from the first to the last index. */
export interface ChunkWindow extends ChunkOwner {
  from: number;
  to: number;
}

/** A chunk that is there; a text of "": the item has none. */
export interface ChunkText {
  index: number;
  externalId: string;
  text: string;
}

/** Which chunk an item is; null: it has no document_id (a number, or a text of up to {@link DOCUMENT_ID_CHARACTERS_MAX}
 * characters), or no chunk_index from 0. */
export function chunkPlaceOf(externalId: string, metadata: string): ChunkPlace | null {
  const chosen = JSON.parse(chosenMetadata(metadata, [DOCUMENT_ID, CHUNK_INDEX])) as JsonObject;
  const [documentId, index] = [chosen[DOCUMENT_ID], chosen[CHUNK_INDEX]];
  if (typeof documentId !== 'string' && typeof documentId !== 'number') return null;
  if (typeof documentId === 'string' && documentId.length > DOCUMENT_ID_CHARACTERS_MAX) return null;
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) return null;
  const isNamed = typeof documentId === 'string' && chunkId(documentId, index) === externalId;
  return { documentId, index, isNamed };
}

/** A key of whose chunks they are. */
export function ownerKey({ documentId, isNamed }: ChunkOwner): string {
  return `${isNamed ? 'i' : 'm'}${typeof documentId} ${documentId}`;
}

/** The windows of chunks, by the keys of `places`. Those that touch are one, of {@link WINDOW_CHUNKS_MAX} chunks. */
export function windowsOf(
  places: ReadonlyMap<string, ChunkPlace>,
  { before, after }: Expansion,
): Map<string, ChunkWindow> {
  const inOrder = [...places].map(([key, place]) => ({ key, place, owner: ownerKey(place) }));
  inOrder.sort((a, b) => (a.owner === b.owner ? a.place.index - b.place.index : a.owner < b.owner ? -1 : 1));
  const windows = new Map<string, ChunkWindow>();
  let owner: string | null = null;
  let window: ChunkWindow | null = null;
  for (const { key, place, owner: own } of inOrder) {
    const { documentId, isNamed, index } = place;
    const [from, to] = [Math.max(0, index - before), Math.min(Number.MAX_SAFE_INTEGER, index + after)];
    const touches = window !== null && own === owner && from <= window.to + 1;
    if (touches && to - window!.from < WINDOW_CHUNKS_MAX) window!.to = to;
    else window = { documentId, isNamed, from, to };
    owner = own;
    windows.set(key, window!);
  }
  return windows;
}

/** Numbers of its chunks. */
export function indexesOf({ from, to }: ChunkWindow): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** The text of chunks of one window, by index; null: none is there. */
export function contextOf(chunks: readonly ChunkText[]): HitContext | null {
  if (chunks.length === 0) return null;
  let text = '';
  let last: ChunkText | null = null;
  const places: HitContext['chunks'][number][] = [];
  for (const chunk of chunks) {
    const isNext: boolean = last !== null && last.index + 1 === chunk.index;
    const shared = isNext ? sharedLength(last!.text, chunk.text) : 0;
    if (shared > 0) text += chunk.text.slice(shared);
    else text += text === '' || chunk.text === '' ? chunk.text : `\n${chunk.text}`;
    last = chunk;
    const { index, externalId } = chunk;
    if (chunk.text !== '') places.push({ index, externalId, at: text.length - chunk.text.length, end: text.length });
    if (text.length >= CONTEXT_CHARACTERS_MAX) break;
  }
  return { text, fromChunk: chunks[0].index, toChunk: last!.index, chunks: places };
}

/**
 * How many characters at the end of a chunk are also the first of the next: the most that there are, but not a whole
 * chunk, and whole words unless they are many.
 */
function sharedLength(chunk: string, next: string): number {
  const most = Math.min(chunk.length - 1, next.length - 1, SHARED_MAX);
  if (most <= 0) return 0;
  // By each length, the longest beginning of `next` that is also the end of one so long (Knuth, Morris and Pratt).
  const shorter = new Int32Array(most + 1);
  let length = 0;
  for (let at = 1; at < most; at += 1) {
    const unit = next.charCodeAt(at);
    while (length > 0 && next.charCodeAt(length) !== unit) length = shorter[length];
    if (next.charCodeAt(length) === unit) length += 1;
    shorter[at + 1] = length;
  }
  length = 0;
  for (let at = chunk.length - most; at < chunk.length; at += 1) {
    const unit = chunk.charCodeAt(at);
    while (length > 0 && (length === most || next.charCodeAt(length) !== unit)) length = shorter[length];
    if (next.charCodeAt(length) === unit) length += 1;
  }
  while (length > 0 && !isShared(chunk, next, length)) length = shorter[length];
  return length;
}

function isShared(chunk: string, next: string, length: number): boolean {
  if (length >= SHARED_MIN) return true;
  return isBlankUnit(chunk.charCodeAt(chunk.length - length - 1)) && isBlankUnit(next.charCodeAt(length));
}
