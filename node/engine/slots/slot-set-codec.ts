import type { ByteReader } from '../files/byte-reader';
import type { ByteWriter } from '../files/byte-writer';
import { ChunkedSlotSet } from './chunked-slot-set';
import { ARRAY_MAX, CHUNK_SLOTS, CHUNK_WORDS, chunkFromValues, chunkFromWords, type SlotChunk } from './slot-chunk';

/**
 * Bytes of a slot set: u32 number of chunks, then for each u32 (high half × 2 + 1 for a bitmap), and either 2,048 words
 * or u32 count and that many sorted u16.
 */
export function writeSlotSet(set: ChunkedSlotSet, writer: ByteWriter): void {
  const entries = set.entries();
  writer.u32(entries.length);
  for (const { high, chunk } of entries) {
    writer.u32(high * 2 + (chunk.words === null ? 0 : 1));
    if (chunk.words !== null) writer.bytes(chunk.words);
    else {
      writer.u32(chunk.size);
      writer.bytes((chunk.values as Uint16Array).subarray(0, chunk.size));
    }
  }
}

/** Errors: those of malformed bytes, as a plain Error. */
export function readSlotSet(reader: ByteReader): ChunkedSlotSet {
  const count = reader.u32();
  if (count > CHUNK_SLOTS) throw new Error(`saved slot set has ${count} chunks`);
  const entries: { high: number; chunk: SlotChunk }[] = [];
  for (let i = 0, last = -1; i < count; i++) {
    const head = reader.u32();
    const high = head >>> 1;
    if (high <= last || high >= CHUNK_SLOTS) throw new Error('saved slot set is out of order');
    last = high;
    const chunk = (head & 1) === 1 ? chunkFromWords(reader.u32Array(CHUNK_WORDS)) : chunkFromValues(readSorted(reader));
    if (chunk.size === 0) throw new Error('saved slot set has an empty chunk');
    entries.push({ high, chunk });
  }
  return ChunkedSlotSet.fromEntries(entries);
}

function readSorted(reader: ByteReader): Uint16Array {
  const size = reader.u32();
  if (size > ARRAY_MAX) throw new Error(`saved slot set has an array of ${size}`);
  const values = reader.u16Array(size);
  for (let i = 1; i < size; i++) if (values[i - 1] >= values[i]) throw new Error('saved slot set is out of order');
  return values;
}
