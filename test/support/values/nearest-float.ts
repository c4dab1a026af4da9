/** What JSON numbers become as float32, in whole numbers of any size: slow, and without an error of its own. */

/**
 * The bits of infinity: those of the first power of two beyond the range, to which what lies nearer to that is rounded.
 */
const INFINITY = 0x7f800000;
const VIEW = new DataView(new ArrayBuffer(4));

/** The float32 of these bits. */
export function floatOf(bits: number): number {
  VIEW.setUint32(0, bits);
  return VIEW.getFloat32(0);
}

function bitsOf(float: number): number {
  VIEW.setFloat32(0, float);
  return VIEW.getUint32(0);
}

interface Fraction {
  over: bigint;
  under: bigint;
}

/** The float32 that is nearest to a decimal; of two, the even one. */
export function nearestFloat(decimal: string): number {
  const isNegative = decimal.startsWith('-');
  const size = isNegative ? decimal.slice(1) : decimal;
  const exact = fractionOf(size);
  // By way of a double it may be the wrong one by one, not by more.
  let bits = Math.max(0, bitsOf(Math.fround(Number(size))) - 1);
  for (; bits < INFINITY; bits++) {
    const middle = middleAbove(bits);
    const order = exact.over * middle.under - middle.over * exact.under;
    if (order < 0n || (order === 0n && bits % 2 === 0)) break;
  }
  return isNegative ? -floatOf(bits) : floatOf(bits);
}

/**
 * The number in the middle between the float32 of these bits, which is no negative one, and the next. A double holds it
 * exactly.
 */
export function middleAfter(bits: number): number {
  const { over, under } = middleAbove(bits);
  return Number(over) / Number(under);
}

/** All its digits. */
export function middleTextAfter(bits: number): string {
  const { over, under } = middleAbove(bits);
  const places = BigInt(under.toString(2).length - 1);
  return `${over * 5n ** places}e-${places}`;
}

function middleAbove(bits: number): Fraction {
  const power = bits >>> 23;
  const digits = BigInt((bits & 0x7fffff) + (power > 0 ? 0x800000 : 0)) * 2n + 1n;
  const shift = Math.max(power, 1) - 151;
  return shift < 0 ? { over: digits, under: 2n ** BigInt(-shift) } : { over: digits * 2n ** BigInt(shift), under: 1n };
}

function fractionOf(decimal: string): Fraction {
  const [, whole, part = '', power = '0'] = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(decimal) ?? [];
  const digits = BigInt(whole + part);
  const exponent = Number(power) - part.length;
  return exponent < 0
    ? { over: digits, under: 10n ** BigInt(-exponent) }
    : { over: digits * 10n ** BigInt(exponent), under: 1n };
}
