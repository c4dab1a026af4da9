/**
 * Values of one page of texts, and bytes that these become: by the encoding, a few bytes may stand for any number of
 * either.
 */
const TEXTS_MAX = 1 << 20;
const TEXT_BYTES_MAX = 128 << 20;

/** As the format has it: blocks of a multiple of 128 values, in parts of a multiple of 32 of them. */
const BLOCK_VALUES = 128;
const PART_VALUES = 32;
const BLOCK_VALUES_MAX = 1 << 20;
const LENGTH_BITS = 32;

/**
 * Looks through a page of `count` values in one of the delta encodings
 * (https://parquet.apache.org/docs/file-format/data-pages/encodings/), which another reader will decode: it believes
 * what the page says of its blocks, and makes as many bytes of texts as their lengths come to. Answers these. Throws a
 * RangeError for what can't be.
 */
export function checkDeltas(bytes: Uint8Array, encoding: string, count: number): number {
  const deltas = new Deltas(bytes);
  if (encoding === 'DELTA_BINARY_PACKED') {
    deltas.head();
    return 0;
  }
  if (count > TEXTS_MAX) throw new RangeError(`a page would have ${count} texts`);
  const prefixes = encoding === 'DELTA_BYTE_ARRAY' ? deltas.lengths(count) : new Int32Array(count);
  const suffixes = deltas.lengths(count);
  let before = 0;
  let total = 0;
  for (let i = 0; i < count; i++) {
    if (prefixes[i] < 0 || prefixes[i] > before || suffixes[i] < 0)
      throw new RangeError('a text has a length that can not be');
    before = prefixes[i] + suffixes[i];
    total += before;
  }
  if (total > TEXT_BYTES_MAX) throw new RangeError(`a page would have ${total} bytes of texts`);
  return total;
}

class Deltas {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  /** Values of a block, its parts, and the first value, modulo 2^32. */
  head(): { block: number; parts: number; first: number } {
    const block = this.varint();
    const parts = this.varint();
    const ofPart = block / parts;
    if (
      !(
        block > 0 &&
        block <= BLOCK_VALUES_MAX &&
        block % BLOCK_VALUES === 0 &&
        ofPart >= PART_VALUES &&
        ofPart % PART_VALUES === 0
      )
    )
      throw new RangeError(`a block would have ${block} values in ${parts} parts`);
    this.varint();
    return { block, parts, first: this.zigzag() };
  }

  /** Whole numbers of 32 bits. */
  lengths(count: number): Int32Array {
    const { block, parts, first } = this.head();
    const values = new Int32Array(count);
    const ofPart = block / parts;
    let value = first;
    let next = 0;
    if (count > 0) values[next++] = value;
    while (next < count) {
      const least = this.zigzag();
      const widths = this.take(parts);
      for (let part = 0; part < parts && next < count; part++) {
        const width = widths[part];
        if (width > LENGTH_BITS) throw new RangeError(`lengths would have ${width} bits`);
        // The last part may end with its last value.
        const needed = Math.ceil((Math.min(ofPart, count - next) * width) / 8);
        const packed = this.take(Math.max(needed, Math.min((ofPart * width) / 8, this.bytes.length - this.at)));
        for (let i = 0; i < ofPart && next < count; i++)
          values[next++] = value = (value + least + bitsAt(packed, i * width, width)) | 0;
      }
    }
    return values;
  }

  private take(length: number): Uint8Array {
    if (this.at + length > this.bytes.length) throw new RangeError('blocks are cut off');
    return this.bytes.subarray(this.at, (this.at += length));
  }

  private varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      if (shift > 63) throw new RangeError('a number does not end');
      const [byte] = this.take(1);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  /** Modulo 2^32: what is above does not count where values have 32 bits. */
  private zigzag(): number {
    const value = this.varint();
    return (value % 2 === 0 ? value / 2 : -(value + 1) / 2) | 0;
  }
}

/** `width` bits from a place on, the lowest first. */
function bitsAt(bytes: Uint8Array, from: number, width: number): number {
  let value = 0;
  for (let got = 0; got < width;) {
    const bit = (from + got) % 8;
    const some = Math.min(8 - bit, width - got);
    value |= ((bytes[(from + got) >> 3] >> bit) & ((1 << some) - 1)) << got;
    got += some;
  }
  return value;
}
