/**
 * The order of doubles as whole numbers: neighbours differ by one, and a greater number has a greater rank. By it the
 * numbers between two bounds are divided into parts of equal width; the addon does the same
 * (node/engine/native/filter/filter_counts.h).
 */

/** Parts into which a spread is divided at most. */
const SPREAD_PARTS = 4_096n;
const SIGN = 1n << 63n;
const ALL = (1n << 64n) - 1n;

const double = new Float64Array(1);
const bits = new BigUint64Array(double.buffer);

export function numberRank(number: number): bigint {
  // −0 equals 0.
  double[0] = number + 0;
  return (bits[0] & SIGN) === 0n ? bits[0] | SIGN : bits[0] ^ ALL;
}

export function numberOfRank(rank: bigint): number {
  bits[0] = (rank & SIGN) === 0n ? rank ^ ALL : rank ^ SIGN;
  return double[0];
}

/** By how many bits ranks are shifted, so that those from `low` to `high` fall into parts. */
export function spreadShift(low: number, high: number): bigint {
  const width = numberRank(high) - numberRank(low);
  let shift = 0n;
  while (width >> shift >= SPREAD_PARTS) shift += 1n;
  return shift;
}
