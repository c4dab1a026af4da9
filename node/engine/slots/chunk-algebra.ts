import { CHUNK_WORDS, chunkFromValues, chunkFromWords, chunkHas, orInto, type SlotChunk } from './slot-chunk';

/** Set operations on two chunks of the same range. Each makes a new chunk; null if that would be empty. */

export function intersectChunks(a: SlotChunk, b: SlotChunk): SlotChunk | null {
  if (a.words !== null && b.words !== null) {
    const words = new Uint32Array(CHUNK_WORDS);
    for (let i = 0; i < CHUNK_WORDS; i++) words[i] = a.words[i] & b.words[i];
    return orNull(chunkFromWords(words));
  }
  if (a.values !== null && b.values !== null && a.size < 32 * b.size && b.size < 32 * a.size)
    return mergeIntersect(a, b);
  const sparse = a.values !== null && (b.values === null || a.size <= b.size) ? a : b;
  return keepWhere(sparse, sparse === a ? b : a, true);
}

export function uniteChunks(a: SlotChunk, b: SlotChunk): SlotChunk {
  const words = new Uint32Array(CHUNK_WORDS);
  orInto(a, words);
  orInto(b, words);
  return chunkFromWords(words);
}

/** The members of a that are not in b. */
export function subtractChunks(a: SlotChunk, b: SlotChunk): SlotChunk | null {
  if (a.values !== null) return keepWhere(a, b, false);
  const words = (a.words as Uint32Array).slice();
  if (b.words !== null) {
    for (let i = 0; i < CHUNK_WORDS; i++) words[i] &= ~b.words[i];
  } else {
    const values = b.values as Uint16Array;
    for (let i = 0; i < b.size; i++) words[values[i] >>> 5] &= ~(1 << (values[i] & 31));
  }
  return orNull(chunkFromWords(words));
}

/** The members of an array chunk whose presence in `other` is `wanted`. */
function keepWhere(sparse: SlotChunk, other: SlotChunk, wanted: boolean): SlotChunk | null {
  const from = sparse.values as Uint16Array;
  const kept = new Uint16Array(sparse.size);
  let size = 0;
  for (let i = 0; i < sparse.size; i++) if (chunkHas(other, from[i]) === wanted) kept[size++] = from[i];
  return orNull(chunkFromValues(kept.slice(0, size)));
}

function mergeIntersect(a: SlotChunk, b: SlotChunk): SlotChunk | null {
  const left = a.values as Uint16Array;
  const right = b.values as Uint16Array;
  const kept = new Uint16Array(Math.min(a.size, b.size));
  let size = 0;
  for (let i = 0, j = 0; i < a.size && j < b.size;) {
    if (left[i] < right[j]) i++;
    else if (left[i] > right[j]) j++;
    else {
      kept[size++] = left[i++];
      j++;
    }
  }
  return orNull(chunkFromValues(kept.slice(0, size)));
}

function orNull(chunk: SlotChunk): SlotChunk | null {
  return chunk.size === 0 ? null : chunk;
}
