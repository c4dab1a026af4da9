/**
 * The key by which a sample is drawn: of all items that match, those with the least keys are the sample. A key follows
 * from the seed and the external id alone, so a sample depends neither on the shards nor on the order of writes, and a
 * larger sample with the same seed holds the smaller one (bottom-k sampling: Cohen & Kaplan, "Summarizing data using
 * bottom-k sketches", 2007). Two lanes of multiplications and shifts, mixed at the end as in MurmurHash3: it spreads
 * well, and is no secret.
 */

/** One more than the greatest key: 53 bits, all integers that a number has. */
export const SAMPLE_KEYS = 2 ** 53;

/** One more than the greatest seed. */
export const SAMPLE_SEEDS = 2 ** 32;

/** The key of an id, over its UTF-16 code units: an integer from 0 to below {@link SAMPLE_KEYS}. */
export function sampleKey(seed: number, externalId: string): number {
  let low = mixed(seed ^ LOW_START);
  let high = mixed(seed ^ HIGH_START);
  for (let i = 0; i < externalId.length; i++) {
    const unit = externalId.charCodeAt(i);
    low = Math.imul(low ^ unit, LOW_FACTOR);
    low ^= low >>> 15;
    high = Math.imul(high ^ unit, HIGH_FACTOR);
    high ^= high >>> 13;
  }
  return keyOf(low, high);
}

/** {@link sampleKey} of an id stored as ASCII in `bytes` from `from` to `to`; -1 if it is not ASCII. */
export function sampleKeyOfAscii(seed: number, bytes: Uint8Array, from: number, to: number): number {
  let low = mixed(seed ^ LOW_START);
  let high = mixed(seed ^ HIGH_START);
  for (let i = from; i < to; i++) {
    const unit = bytes[i];
    if (unit > 0x7f) return -1;
    low = Math.imul(low ^ unit, LOW_FACTOR);
    low ^= low >>> 15;
    high = Math.imul(high ^ unit, HIGH_FACTOR);
    high ^= high >>> 13;
  }
  return keyOf(low, high);
}

/** Odd, with bits spread over all 32. */
const LOW_FACTOR = 0x9e3779b1;
const HIGH_FACTOR = 0x85ebca77;
const LOW_START = 0x27d4eb2f;
const HIGH_START = 0x165667b1;

function keyOf(low: number, high: number): number {
  const crossed = mixed(low ^ Math.imul(high, LOW_FACTOR));
  return (mixed(high ^ Math.imul(crossed, HIGH_FACTOR)) & 0x1fffff) * 2 ** 32 + crossed;
}

/** MurmurHash3's finaliser. */
function mixed(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
