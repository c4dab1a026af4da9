import type { Hit } from '../../../shared/contract/shard/shard-read';

/**
 * The saved columns of a directory: what it knows about each slot, one typed array per column. A slot whose flags are 0
 * is empty, and its other values are meaningless.
 */
export interface DirectoryColumns {
  recnos: Float64Array;
  stamps: Float64Array;
  /** 0 for an item that was stored before versions were counted. */
  versions: Float64Array;
  /** Place in the arena of the id's bytes, followed by those of the metadata. */
  chunks: Uint32Array;
  offsets: Uint32Array;
  idBytes: Uint16Array;
  metadataBytes: Uint32Array;
  flags: Uint8Array;
}

/** In the order of a save. */
export const COLUMN_NAMES = [
  'recnos',
  'stamps',
  'versions',
  'chunks',
  'offsets',
  'idBytes',
  'metadataBytes',
  'flags',
] as const;

/** Bytes of one slot over all columns. */
export const SLOT_BYTES = 39;

const PAGE_SHIFT = 10;
/**
 * Slots of a page. Large enough that a page's fixed cost (about 2 KB) is small, and small enough for a shard of a few
 * items.
 */
export const PAGE_SLOTS = 1 << PAGE_SHIFT;

/** Reading more costs so much that a call less is no matter, and an id would keep it in memory. */
const TOGETHER_BYTES_MAX = 1024;

/** Flags of a slot. */
export const LIVE = 1;
export const ID_IS_UTF16 = 2;
export const HAS_TEXT = 4;
/** The item has expired, and is there only for those who write: its record is not removed yet. */
export const HIDDEN = 8;
/** Its version tells when it changed. */
export const DATED = 16;

/**
 * The columns of PAGE_SLOTS slots that follow each other, in shared memory. A directory grows by pages and never moves
 * one. So other threads read pages that they were given once, for as long as the directory exists.
 */
export interface DirectoryPage extends DirectoryColumns {
  readonly memory: SharedArrayBuffer;
}

/** The number of the page that holds a slot. */
export function pageNumberOf(slot: number): number {
  return slot >>> PAGE_SHIFT;
}

/** Where a slot is in its page. */
export function positionInPage(slot: number): number {
  return slot & (PAGE_SLOTS - 1);
}

/** The page in `memory`; default: an empty one. */
export function directoryPage(memory = new SharedArrayBuffer(PAGE_SLOTS * SLOT_BYTES)): DirectoryPage {
  // Wide columns first, so that each is aligned.
  return {
    memory,
    recnos: new Float64Array(memory, 0, PAGE_SLOTS),
    stamps: new Float64Array(memory, PAGE_SLOTS * 8, PAGE_SLOTS),
    versions: new Float64Array(memory, PAGE_SLOTS * 16, PAGE_SLOTS),
    chunks: new Uint32Array(memory, PAGE_SLOTS * 24, PAGE_SLOTS),
    offsets: new Uint32Array(memory, PAGE_SLOTS * 28, PAGE_SLOTS),
    metadataBytes: new Uint32Array(memory, PAGE_SLOTS * 32, PAGE_SLOTS),
    idBytes: new Uint16Array(memory, PAGE_SLOTS * 36, PAGE_SLOTS),
    flags: new Uint8Array(memory, PAGE_SLOTS * 38, PAGE_SLOTS),
  };
}

/** Where the text of an item is in its chunk, and how it is written. */
export interface TextSpan {
  encoding: 'utf16le' | 'utf8';
  from: number;
  bytes: number;
}

/** The id of the item at `place` of a page; `chunk` is the one that the page names. */
export function externalIdAt(page: DirectoryPage, position: number, chunk: Buffer): string {
  const from = page.offsets[position];
  return chunk.toString(page.flags[position] & ID_IS_UTF16 ? 'utf16le' : 'utf8', from, from + page.idBytes[position]);
}

/** Whether the item at `position` of a page has the id; an id in ASCII is compared where it lies. */
export function hasExternalIdAt(page: DirectoryPage, position: number, chunk: Buffer, externalId: string): boolean {
  const { length } = externalId;
  if (page.idBytes[position] === length && (page.flags[position] & ID_IS_UTF16) === 0) {
    const from = page.offsets[position];
    let at = 0;
    while (at < length && chunk[from + at] < 0x80 && chunk[from + at] === externalId.charCodeAt(at)) at++;
    if (at === length) return true;
    // Another character in ASCII; of others, the bytes say nothing.
    if (chunk[from + at] < 0x80 && externalId.charCodeAt(at) < 0x80) return false;
  }
  return externalIdAt(page, position, chunk) === externalId;
}

/** The metadata of the item at `place` of a page, as {@link externalIdAt}. */
export function metadataAt(page: DirectoryPage, position: number, chunk: Buffer): string {
  const from = page.offsets[position] + page.idBytes[position];
  return chunk.toString('utf8', from, from + page.metadataBytes[position]);
}

/** The item as a hit: its id and its metadata, which lie side by side, as one text where both are ASCII. */
export function hitAt(page: DirectoryPage, position: number, chunk: Buffer, score: number): Hit {
  const idBytes = page.idBytes[position];
  const bytes = idBytes + page.metadataBytes[position];
  if (bytes <= TOGETHER_BYTES_MAX && (page.flags[position] & ID_IS_UTF16) === 0) {
    const from = page.offsets[position];
    const both = chunk.toString('utf8', from, from + bytes);
    // What takes several bytes is fewer characters.
    if (both.length === bytes) return { externalId: both.slice(0, idBytes), score, metadata: both.slice(idBytes) };
  }
  return { externalId: externalIdAt(page, position, chunk), score, metadata: metadataAt(page, position, chunk) };
}

/** Where {@link externalIdAt} finds the id. */
export function idSpanAt(page: DirectoryPage, position: number): TextSpan {
  return {
    encoding: page.flags[position] & ID_IS_UTF16 ? 'utf16le' : 'utf8',
    from: page.offsets[position],
    bytes: page.idBytes[position],
  };
}

/** Where {@link metadataAt} finds the metadata. */
export function metadataSpanAt(page: DirectoryPage, position: number): TextSpan {
  return {
    encoding: 'utf8',
    from: page.offsets[position] + page.idBytes[position],
    bytes: page.metadataBytes[position],
  };
}

/** Empty columns of `slots` slots. */
export function columnsOf(slots: number): DirectoryColumns {
  return {
    recnos: new Float64Array(slots),
    stamps: new Float64Array(slots),
    versions: new Float64Array(slots),
    chunks: new Uint32Array(slots),
    offsets: new Uint32Array(slots),
    idBytes: new Uint16Array(slots),
    metadataBytes: new Uint32Array(slots),
    flags: new Uint8Array(slots),
  };
}

/** A copy of the first `slots` slots of the pages as columns, at the cost of copying their memory. */
export function columnsFromPages(pages: readonly DirectoryPage[], slots: number): DirectoryColumns {
  const columns = columnsOf(slots);
  for (const name of COLUMN_NAMES) {
    for (const [number, page] of pages.entries()) {
      const first = number * PAGE_SLOTS;
      if (first < slots) columns[name].set(page[name].subarray(0, slots - first), first);
    }
  }
  return columns;
}
