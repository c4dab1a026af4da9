/** Numbers in units of the least double above 0, as whole numbers: their sums have no rounding, whatever the order. */

/** A unit is 2^-SUM_BITS. */
export const SUM_BITS = 1_074n;

const QUOTIENT_BITS = 60n;

const double = new Float64Array(1);
const bits = new BigUint64Array(double.buffer);

/** The number in units; 0 for what is not finite. */
export function wholeOfNumber(number: number): bigint {
  if (!Number.isFinite(number)) return 0n;
  double[0] = Math.abs(number);
  const exponent = bits[0] >> 52n;
  const fraction = bits[0] & ((1n << 52n) - 1n);
  const whole = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
  return number < 0 ? -whole : whole;
}

/** The double nearest to `units` / `divisor` units, of two the even one; infinite where it is beyond all doubles. */
export function numberOfWhole(units: bigint, divisor = 1n): number {
  if (units === 0n) return 0;
  const size = units < 0n ? -units : units;
  // The quotient with more bits than a double has, and one that says whether anything is left.
  const shift = QUOTIENT_BITS - BigInt(size.toString(2).length - divisor.toString(2).length);
  const [above, below] = shift > 0n ? [size << shift, divisor] : [size, divisor << -shift];
  const quotient = above / below;
  const rounded = doubleOf((quotient << 1n) | (quotient * below === above ? 0n : 1n), -shift - 1n - SUM_BITS);
  return units < 0n ? -rounded : rounded;
}

/** The double nearest to `whole` × 2^`exponent`. */
function doubleOf(whole: bigint, exponent: bigint): number {
  const digits = BigInt(whole.toString(2).length);
  // Of small numbers the last bit is that of the unit.
  const dropped = digits - 53n > -SUM_BITS - exponent ? digits - 53n : -SUM_BITS - exponent;
  if (dropped <= 0n) return scaled(whole, exponent);
  const kept = whole >> dropped;
  const rest = whole - (kept << dropped);
  const half = 1n << (dropped - 1n);
  const up = rest > half || (rest === half && (kept & 1n) === 1n);
  return scaled(up ? kept + 1n : kept, exponent + dropped);
}

/** `whole` × 2^`exponent`, which has no more digits than a double; in two steps, neither of which rounds. */
function scaled(whole: bigint, exponent: bigint): number {
  const power = Number(exponent);
  if (power < -1_000) return Number(whole) * 2 ** (power + 900) * 2 ** -900;
  return power > 900 ? Number(whole) * 2 ** 900 * 2 ** (power - 900) : Number(whole) * 2 ** power;
}
