/**
 * The members of one range of 65,536 slots, as the low 16 bits of each: a sorted array while they are few, otherwise a
 * bitmap of 2,048 words. Exactly one of `values` and `words` is set.
 */
export interface SlotChunk {
  size: number;
  /** Sorted; only the first `size` entries count, the rest is room to grow. */
  values: Uint16Array | null;
  words: Uint32Array | null;
  /** Shared by more than one set: whoever changes it must copy it first. Never becomes false again. */
  shared: boolean;
}

/** Slots per chunk: low halves fit 16 bits. */
export const CHUNK_SLOTS = 65_536;
export const CHUNK_WORDS = CHUNK_SLOTS / 32;
/** Above this many members the bitmap (8 KiB) is smaller than the array. */
export const ARRAY_MAX = 4_096;
/**
 * A bitmap becomes an array again only well below ARRAY_MAX, so that adding and removing one slot does not convert it
 * each time.
 */
const BITMAP_MIN = 3_072;
const FIRST_CAPACITY = 8;

export function popcount(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return (((bits + (bits >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24;
}

/** Index of the first entry not below `low` among the first `size` of a sorted array. */
export function lowerBound(values: ArrayLike<number>, size: number, low: number): number {
  let from = 0;
  let to = size;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] < low) from = middle + 1;
    else to = middle;
  }
  return from;
}

export function emptyChunk(): SlotChunk {
  return { size: 0, values: new Uint16Array(FIRST_CAPACITY), words: null, shared: false };
}

/** A chunk of the sorted, distinct `values`; takes ownership of the array. */
export function chunkFromValues(values: Uint16Array): SlotChunk {
  const chunk: SlotChunk = { size: values.length, values, words: null, shared: false };
  if (chunk.size > ARRAY_MAX) toWords(chunk);
  return chunk;
}

/** A chunk of the bits of `words` (2,048 of them); takes ownership of the array. */
export function chunkFromWords(words: Uint32Array): SlotChunk {
  let size = 0;
  for (let i = 0; i < CHUNK_WORDS; i++) if (words[i] !== 0) size += popcount(words[i]);
  const chunk: SlotChunk = { size, values: null, words, shared: false };
  if (size <= ARRAY_MAX) toValues(chunk);
  return chunk;
}

export function copyChunk(chunk: SlotChunk): SlotChunk {
  return {
    size: chunk.size,
    values:
      chunk.values === null ? null : chunk.values.slice(0, Math.min(chunk.values.length, chunk.size + FIRST_CAPACITY)),
    words: chunk.words === null ? null : chunk.words.slice(),
    shared: false,
  };
}

export function chunkHas(chunk: SlotChunk, low: number): boolean {
  if (chunk.words !== null) return (chunk.words[low >>> 5] & (1 << (low & 31))) !== 0;
  const values = chunk.values as Uint16Array;
  const at = lowerBound(values, chunk.size, low);
  return at < chunk.size && values[at] === low;
}

/** Adds to a chunk that is not shared. Answers whether the member was new. */
export function chunkAdd(chunk: SlotChunk, low: number): boolean {
  if (chunk.words !== null) {
    const word = chunk.words[low >>> 5];
    const bit = 1 << (low & 31);
    if ((word & bit) !== 0) return false;
    chunk.words[low >>> 5] = word | bit;
    chunk.size++;
    return true;
  }
  let values = chunk.values as Uint16Array;
  const size = chunk.size;
  const at = size === 0 || values[size - 1] < low ? size : lowerBound(values, size, low);
  if (at < size && values[at] === low) return false;
  if (size === ARRAY_MAX) {
    toWords(chunk);
    return chunkAdd(chunk, low);
  }
  if (size === values.length) {
    const grown = new Uint16Array(Math.min(ARRAY_MAX, Math.max(FIRST_CAPACITY, size * 2)));
    grown.set(values);
    chunk.values = values = grown;
  }
  if (at < size) values.copyWithin(at + 1, at, size);
  values[at] = low;
  chunk.size = size + 1;
  return true;
}

/** Removes from a chunk that is not shared. Answers whether it was a member. */
export function chunkRemove(chunk: SlotChunk, low: number): boolean {
  if (!chunkHas(chunk, low)) return false;
  if (chunk.words !== null) {
    chunk.words[low >>> 5] &= ~(1 << (low & 31));
    chunk.size--;
    if (chunk.size < BITMAP_MIN) toValues(chunk);
  } else {
    const values = chunk.values as Uint16Array;
    values.copyWithin(lowerBound(values, chunk.size, low), lowerBound(values, chunk.size, low) + 1, chunk.size);
    chunk.size--;
  }
  return true;
}

/** Writes the members in ascending order to `target` from `offset` on, with `base` added. */
export function writeMembers(chunk: SlotChunk, base: number, target: Uint32Array, offset: number): void {
  if (chunk.words === null) {
    const values = chunk.values as Uint16Array;
    for (let i = 0; i < chunk.size; i++) target[offset + i] = base + values[i];
    return;
  }
  for (let i = 0; i < CHUNK_WORDS; i++) {
    for (let word = chunk.words[i]; word !== 0; word &= word - 1)
      target[offset++] = base + i * 32 + 31 - Math.clz32(word & -word);
  }
}

/** Sets the members' bits in `words`, whose bit 0 is the chunk's first slot. */
export function orInto(chunk: SlotChunk, words: Uint32Array): void {
  if (chunk.words !== null) {
    for (let i = 0; i < CHUNK_WORDS; i++) words[i] |= chunk.words[i];
    return;
  }
  const values = chunk.values as Uint16Array;
  for (let i = 0; i < chunk.size; i++) words[values[i] >>> 5] |= 1 << (values[i] & 31);
}

export function chunkMemoryBytes(chunk: SlotChunk): number {
  /** The chunk object and the header of its typed array, in V8's 64-bit layout. */
  const OVERHEAD = 200;
  return OVERHEAD + (chunk.words?.byteLength ?? 0) + (chunk.values?.byteLength ?? 0);
}

function toWords(chunk: SlotChunk): void {
  const words = new Uint32Array(CHUNK_WORDS);
  orInto(chunk, words);
  chunk.words = words;
  chunk.values = null;
}

function toValues(chunk: SlotChunk): void {
  const members = new Uint32Array(chunk.size);
  writeMembers(chunk, 0, members, 0);
  chunk.values = Uint16Array.from(members);
  chunk.words = null;
}
