import { LATIN1, type ByteWriter } from '../files/byte-writer';
import type { ByteReader } from '../files/byte-reader';
import { readSlotSet, writeSlotSet } from '../slots/slot-set-codec';
import type { FieldNode, IndexExtent } from './field-node';
import { NO_SLOTS, type Posting, postingUnion } from './posting';
import { ValueDictionary } from './value-dictionary';

/** Values per block: the strings of a block are written and read as one. */
const BLOCK_VALUES = 1_024;
/** Bytes after which a part of a saved state is passed on: a few milliseconds of work between two other calls. */
const CHUNK_BYTES = 512 * 1024;
/** Tags of a posting: none, one slot, a set. */
const [TAG_NONE, TAG_ONE, TAG_SET] = [0, 1, 2];

/**
 * Writes the fields below `node` one after the other, each followed by those inside it, and yields the bytes when
 * enough have been written. The index may change between two steps, so nothing is counted in advance and ends are
 * marked. What a slot has that does not change meanwhile is written exactly once (a value may appear twice, each time
 * with other slots).
 */
export function* writeFields(node: FieldNode, writer: ByteWriter): Generator<Buffer> {
  for (const [key, child] of node.children) {
    writer.u8(1);
    writer.text(key);
    for (const posting of [child.present, child.nulls, child.trues, child.falses]) writePosting(posting, writer);
    for (const dictionary of [child.numbers, child.strings, child.composites]) {
      let page = dictionary?.page(0, BLOCK_VALUES);
      while (page !== undefined && page.keys.length > 0) {
        writeBlock(page, writer);
        if (writer.length > CHUNK_BYTES) yield writer.take();
        page = page.next === null ? undefined : dictionary?.page(page.next, BLOCK_VALUES);
      }
      writer.u32(0);
    }
    if (writer.length > CHUNK_BYTES) yield writer.take();
    yield* writeFields(child, writer);
  }
  writer.u8(0);
}

/**
 * Reads what writeFields wrote into a node without members, one block of values per step. Errors: those of malformed
 * bytes, as a plain Error.
 */
export function* readFields(node: FieldNode, reader: ByteReader, extent: IndexExtent): Generator<undefined, void> {
  for (let tag = reader.u8(); tag !== 0; tag = reader.u8()) {
    if (tag !== 1) throw new Error('saved filter index: no field where one must be');
    const child = node.childOf(reader.text());
    child.present = postingUnion(child.present, readPosting(reader));
    child.nulls = postingUnion(child.nulls, readPosting(reader));
    child.trues = postingUnion(child.trues, readPosting(reader));
    child.falses = postingUnion(child.falses, readPosting(reader));
    yield* readDictionary(reader, extent, readNumbers, () => (child.numbers ??= new ValueDictionary<number>()));
    yield* readDictionary(reader, extent, readStrings, () => (child.strings ??= new ValueDictionary<string>()));
    yield* readDictionary(reader, extent, readStrings, () => (child.composites ??= new ValueDictionary<string>()));
    yield;
    yield* readFields(child, reader, extent);
  }
}

function writeBlock(page: { keys: (number | string)[]; postings: Posting[] }, writer: ByteWriter): void {
  writer.u32(page.keys.length);
  if (typeof page.keys[0] === 'number') for (const key of page.keys) writer.f64(key as number);
  else {
    const text = page.keys.join('');
    const wide = !LATIN1.test(text);
    writer.u8(wide ? 1 : 0);
    writer.bytes(Uint32Array.from(page.keys, (key) => (key as string).length));
    writer.bytes(Buffer.from(text, wide ? 'utf16le' : 'latin1'));
  }
  for (const posting of page.postings) writePosting(posting, writer);
}

function writePosting(posting: Posting, writer: ByteWriter): void {
  if (typeof posting !== 'number') {
    writer.u8(TAG_SET);
    writeSlotSet(posting, writer);
  } else if (posting === NO_SLOTS) writer.u8(TAG_NONE);
  else {
    writer.u8(TAG_ONE);
    writer.u32(posting);
  }
}

function readPosting(reader: ByteReader): Posting {
  switch (reader.u8()) {
    case TAG_NONE:
      return NO_SLOTS;
    case TAG_ONE:
      return reader.u32();
    case TAG_SET:
      return readSlotSet(reader);
    default:
      throw new Error('saved filter index: no posting where one must be');
  }
}

function* readDictionary<K extends number | string>(
  reader: ByteReader,
  extent: IndexExtent,
  readKeys: (reader: ByteReader, count: number) => K[],
  dictionary: () => ValueDictionary<K>,
): Generator<undefined, void> {
  for (let count = reader.u32(); count > 0; count = reader.u32()) {
    if (count > BLOCK_VALUES) throw new Error(`saved filter index: a block of ${count} values`);
    for (const key of readKeys(reader, count)) {
      const posting = readPosting(reader);
      if (posting === NO_SLOTS) throw new Error('saved filter index: a value without slots');
      if (dictionary().merge(key, posting)) extent.entries++;
    }
    yield;
  }
}

function readNumbers(reader: ByteReader, count: number): number[] {
  return Array.from({ length: count }, () => {
    const value = reader.f64();
    if (Number.isNaN(value)) throw new Error('saved filter index: a value that is not a number');
    return value;
  });
}

function readStrings(reader: ByteReader, count: number): string[] {
  const wide = reader.u8() === 1;
  const lengths = reader.u32Array(count);
  const characters = lengths.reduce((sum, length) => sum + length, 0);
  const text = reader.bytes(wide ? characters * 2 : characters).toString(wide ? 'utf16le' : 'latin1');
  let at = 0;
  return Array.from(lengths, (length) => text.slice(at, (at += length)));
}
