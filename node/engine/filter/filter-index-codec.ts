import type { ByteReader } from '../files/byte-reader';
import type { ByteWriter } from '../files/byte-writer';
import type { FieldNode } from './field-node';
import { VALUE } from './filter-words';
import type { AddonFilterIndex } from '../vector/native-filters';

/** Values per block: the strings of a block are written and read as one. */
const BLOCK_VALUES = 1_024;
/** Bytes after which a part of a saved state is passed on: a few milliseconds of work between two other calls. */
const CHUNK_BYTES = 512 * 1024;
/** The dictionaries of a field, in the order of a save. */
const KINDS = [VALUE.number, VALUE.string, VALUE.composite];

/**
 * Writes the fields below `node` one after the other, each followed by those inside it, and yields the bytes when
 * enough have been written. The index may change between two steps, so nothing is counted in advance and ends are
 * marked. What a slot has that does not change meanwhile is written exactly once (a value may appear twice, each time
 * with other slots).
 */
export function* writeFields(node: FieldNode, writer: ByteWriter, native: AddonFilterIndex): Generator<Buffer> {
  for (const [key, child] of node.children) {
    writer.u8(1);
    writer.text(key);
    writer.bytes(native.savedPostings(child.number));
    for (const kind of KINDS) {
      // A field may be dropped between two blocks.
      for (let from = 0; from >= 0 && child.number >= 0;) {
        const { bytes, next } = native.savedValues(child.number, kind, from, BLOCK_VALUES);
        writer.bytes(bytes);
        from = next;
        if (writer.length > CHUNK_BYTES) yield writer.take();
      }
      writer.u32(0);
    }
    if (writer.length > CHUNK_BYTES) yield writer.take();
    yield* writeFields(child, writer, native);
  }
  writer.u8(0);
}

/**
 * Reads what writeFields wrote into a node without members, one block of values per step. The nodes have to be counted
 * again afterwards. Errors: those of malformed bytes, as an Error.
 */
export function* readFields(node: FieldNode, reader: ByteReader, native: AddonFilterIndex): Generator<undefined, void> {
  for (let tag = reader.u8(); tag !== 0; tag = reader.u8()) {
    if (tag !== 1) throw new Error('saved filter index: no field where one must be');
    const child = node.childOf(reader.text());
    reader.lend((bytes, from) => native.loadPostings(child.number, bytes, from));
    for (const kind of KINDS) {
      for (let count = reader.u32(); count > 0; count = reader.u32()) {
        const values = count;
        reader.lend((bytes, from) => native.loadValues(child.number, kind, values, bytes, from));
        yield;
      }
    }
    yield;
    yield* readFields(child, reader, native);
  }
}
