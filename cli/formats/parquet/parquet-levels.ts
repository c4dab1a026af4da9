import type { SchemaTree } from 'hyparquet' with { 'resolution-mode': 'import' };

/**
 * The highest repetition level of a leaf (how many lists it is in) and its highest definition level (how deep it can be
 * missing).
 */
export function highestLevels(path: readonly SchemaTree[]): { repetition: number; definition: number } {
  const below = path.slice(1).map(({ element }) => element.repetition_type);
  return {
    repetition: below.filter((type) => type === 'REPEATED').length,
    definition: below.filter((type) => type !== 'REQUIRED').length,
  };
}

/**
 * Reads `count` levels of a page. They are run-length encoded and bit-packed as Parquet has them
 * (https://parquet.apache.org/docs/file-format/data-pages/encodings/). Lists of a thousand numbers have a thousand
 * levels a row: so these are bytes, and runs are filled at once. Throws a RangeError when they are damaged.
 */
export function readLevels(bytes: Uint8Array, count: number, highest: number): Uint8Array {
  const width = 32 - Math.clz32(highest);
  const levels = new Uint8Array(count);
  let at = 0;
  let seen = 0;
  const next = (): number => {
    if (at >= bytes.length) throw new RangeError('levels are cut off');
    return bytes[at++];
  };
  while (seen < count) {
    let header = 0;
    for (let shift = 0; ; shift += 7) {
      if (shift > 28) throw new RangeError('a run of levels has no length');
      const byte = next();
      header += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    const length = Math.floor(header / 2);
    if (length === 0) throw new RangeError('a run of levels is empty');
    if (header % 2 === 0) {
      const level = next();
      const end = Math.min(count, seen + length);
      if (level !== 0) levels.fill(level, seen, end);
      seen = end;
    } else {
      const end = Math.min(count, seen + length * 8);
      // The last bytes of a run may be left out when nothing is in them.
      if (at + Math.ceil(((end - seen) * width) / 8) > bytes.length) throw new RangeError('levels are cut off');
      unpack(bytes, at, width, levels, seen, end);
      at = Math.min(bytes.length, at + length * width);
      seen = end;
    }
  }
  return levels;
}

/** Values of `width` bits, from the lowest bit of each byte on. */
function unpack(bytes: Uint8Array, at: number, width: number, levels: Uint8Array, from: number, to: number): void {
  if (width === 1) {
    for (let i = from; i < to; at++) {
      const byte = bytes[at];
      if (byte === 0xff && i + 8 <= to) {
        levels.fill(1, i, i + 8);
        i += 8;
      } else for (let bit = 0; bit < 8 && i < to; bit++) levels[i++] = (byte >> bit) & 1;
    }
    return;
  }
  const mask = (1 << width) - 1;
  let held = 0;
  let bits = 0;
  for (let i = from; i < to; i++) {
    while (bits < width) {
      held |= bytes[at++] << bits;
      bits += 8;
    }
    levels[i] = held & mask;
    held >>>= width;
    bits -= width;
  }
}

/**
 * Looks through `count` values of `width` bits, encoded as levels are, that another reader will make an array of;
 * `what` is for messages. Throws a RangeError for a run of more values than there are: it would be made as long as it
 * says.
 */
export function checkRuns(
  bytes: Uint8Array,
  width: number,
  count: number,
  what: 'indices' | 'levels' = 'indices',
): void {
  let at = 0;
  for (let seen = 0; seen < count;) {
    let header = 0;
    for (let shift = 0; ; shift += 7) {
      if (at >= bytes.length) throw new RangeError(`${what} are cut off`);
      if (shift > 28) throw new RangeError(`a run of ${what} has no length`);
      const byte = bytes[at++];
      header += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    const length = Math.floor(header / 2);
    if (length === 0) throw new RangeError(`a run of ${what} is empty`);
    if (header % 2 === 1) {
      // The last of them may have fewer values than eight times its length.
      if ((length - 1) * 8 >= count - seen)
        throw new RangeError(`a run of ${length * 8} ${what} where there are ${count - seen}`);
      seen += length * 8;
      at += length * width;
    } else {
      if (length > count - seen) throw new RangeError(`a run of ${length} ${what} where there are ${count - seen}`);
      seen += length;
      at += Math.ceil(width / 8);
    }
  }
}
