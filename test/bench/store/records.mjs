import { seededRandom } from '../seeded-random.mjs';

const POOL_BYTES = 8 * 1024 * 1024;
const KEY_BYTES = 9;
/** A record of 768 float32 has 3.1 KB with its metadata; half of the records are shorter. */
const VALUE_BYTES_MIN = 2000;
const VALUE_BYTES_MAX = 3300;
/** Spreads neighbouring rows over the pool (Knuth's multiplicative hash). */
const SPREAD = 2654435761;

let pool = null;

/** Random bytes, since vectors do not compress; made at the first use, the same in every process. */
function bytes() {
  if (pool !== null) return pool;
  const random = seededRandom(10);
  pool = Buffer.alloc(POOL_BYTES);
  for (let at = 0; at < POOL_BYTES; at += 4) pool.writeUInt32LE(Math.floor(random() * 4294967296), at);
  return pool;
}

export function keyOf(row) {
  const key = Buffer.alloc(KEY_BYTES);
  key[0] = 0x72;
  key.writeDoubleBE(row, 1);
  return key;
}

export function rowOf(key) {
  return key.readDoubleBE(1);
}

/** The value of a row: 2,000 to 3,300 bytes, or `length`. It shares memory, so making it costs nothing. */
export function valueOf(
  row,
  length = VALUE_BYTES_MIN + ((Math.imul(row, SPREAD) >>> 0) % (VALUE_BYTES_MAX - VALUE_BYTES_MIN + 1)),
) {
  const start = (Math.imul(row + 1, SPREAD) >>> 0) % (POOL_BYTES - VALUE_BYTES_MAX);
  return bytes().subarray(start, start + length);
}

export function recordsFrom(first, count, length) {
  return Array.from({ length: count }, (_, i) => ({ key: keyOf(first + i), value: valueOf(first + i, length) }));
}

/** Why what was read is not what was written; null where it is. */
export function differenceOf(row, value) {
  if (value === undefined || value === null) return `record ${row} is missing`;
  return Buffer.compare(value, valueOf(row)) === 0 ? null : `record ${row} has another value`;
}
