import { isUtf8 } from 'node:buffer';

/** Values of typed tables (Parquet, Arrow) as JSON has them, so that nothing of them is lost. */

/** Units of times, by how many of them a second has. */
export const UNITS = { s: 1n, ms: 1_000n, us: 1_000_000n, ns: 1_000_000_000n } as const;
export type TimeUnitName = keyof typeof UNITS;

const NANOS = 1_000_000_000n;
const DAY_SECONDS = 86_400n;
/** Days after which the calendar is the same again. */
const CYCLE_DAYS = 146_097n;
const CYCLE_YEARS = 400n;
const MS_OF_SECOND = 1_000;
/** No writer has decimals beyond 76 digits; a damaged file would ask for billions. */
const SCALE_MAX = 1_000;

/** Bytes of which nobody said whether they are a text: old writers of Parquet leave that open. */
export class UntypedBytes {
  constructor(readonly bytes: Uint8Array) {}

  /** The text, or null where they are not UTF-8. */
  get text(): string | null {
    return isUtf8(this.bytes)
      ? Buffer.from(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength).toString('utf8')
      : null;
  }

  get base64(): string {
    return base64Of(this.bytes);
  }
}

export function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

const UUID_PARTS = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/;

/** The 16 bytes of a UUID as people write them. */
export function uuidText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString('hex')
    .replace(UUID_PARTS, '$1-$2-$3-$4-$5');
}

/**
 * `unscaled` × 10 ^ -scale: a number where a double, printed again, is the same decimal, and else the decimal as text;
 * whole numbers beyond 2^53 are texts everywhere. Throws a RangeError for a scale that no writer has.
 */
export function decimalValue(unscaled: bigint, scale: number): number | string {
  if (!(Math.abs(scale) <= SCALE_MAX)) throw new RangeError(`a decimal has ${scale} places`);
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const whole = scale > 0 ? digits.slice(0, -scale) : `${digits}${digits === '0' ? '' : '0'.repeat(-scale)}`;
  const fraction = scale > 0 ? digits.slice(-scale) : '';
  const text = `${unscaled < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
  const number = Number(text);
  const isWhole = /^0*$/.test(fraction);
  if (isWhole ? Number.isSafeInteger(number) : sameDecimal(number, unscaled, scale)) return number === 0 ? 0 : number;
  return text;
}

/** Digits that every number of 32 bits keeps, and those that tell each from all others. */
const [FLOAT_DIGITS, FLOAT_DIGITS_MAX] = [6, 9];
/** Smaller ones have fewer digits. */
const FLOAT_NORMAL_MIN = 2 ** -126;
/** Whole numbers below it have 32 bits each, and are told by all their digits. */
const FLOAT_WHOLE_MAX = 2 ** 24;

/**
 * Of a number that has 32 bits, the one of the fewest digits that is the same in 32 bits: 0.1 and not
 * 0.10000000149011612.
 */
export function shortestFloat(number: number): number {
  const size = Math.abs(number);
  if (!Number.isFinite(number) || (size <= FLOAT_WHOLE_MAX && Number.isInteger(number))) return number;
  for (let digits = size < FLOAT_NORMAL_MIN ? 1 : FLOAT_DIGITS; digits < FLOAT_DIGITS_MAX; digits++) {
    const shorter = Number(number.toPrecision(digits));
    if (Math.fround(shorter) === number) return shorter;
  }
  return Number(number.toPrecision(FLOAT_DIGITS_MAX));
}

/** Whether the shortest text of a double is this decimal. */
function sameDecimal(number: number, unscaled: bigint, scale: number): boolean {
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:e([-+]\d+))?$/.exec(String(number));
  if (parts === null) return false;
  const [, sign, whole, fraction = '', exponent = '0'] = parts;
  const places = fraction.length - Number(exponent);
  const digits = BigInt(`${sign}${whole}${fraction}`);
  return places <= scale
    ? digits * 10n ** BigInt(scale - places) === unscaled
    : digits === unscaled * 10n ** BigInt(places - scale);
}

/** Two's complement, the most significant byte first. */
export function bigEndianInteger(bytes: Uint8Array): bigint {
  return bytes.length === 0
    ? 0n
    : BigInt.asIntN(
        bytes.length * 8,
        BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`),
      );
}

/** A moment as ISO 8601 in UTC: with milliseconds, and as many more places as it has. */
export function timestampText(count: bigint, unit: TimeUnitName): string {
  const seconds = floorOf(count, UNITS[unit]);
  const nanos = (count - seconds * UNITS[unit]) * (NANOS / UNITS[unit]);
  const days = floorOf(seconds, DAY_SECONDS);
  return `${dayText(days)}T${clockText(seconds - days * DAY_SECONDS)}.${placesOf(nanos, 3)}Z`;
}

/** A day since 1970 as the moment of its beginning. */
export function dateText(days: bigint): string {
  return `${dayText(days)}T00:00:00.000Z`;
}

/** A time of day as hh:mm:ss, with as many places of the second as it has. */
export function timeText(count: bigint, unit: TimeUnitName): string {
  const seconds = floorOf(count, UNITS[unit]);
  const nanos = (count - seconds * UNITS[unit]) * (NANOS / UNITS[unit]);
  const places = placesOf(nanos, 0);
  return `${seconds < 0n ? '-' : ''}${clockText(seconds < 0n ? -seconds : seconds)}${places === '' ? '' : `.${places}`}`;
}

/** A length of time as ISO 8601: PT2H3M4.5S. */
export function durationText(count: bigint, unit: TimeUnitName): string {
  return intervalText({ months: 0, days: 0, nanos: count * (NANOS / UNITS[unit]) });
}

/** A length of calendar time as ISO 8601: P1Y2M3DT4.5S; parts of different signs have one each. */
export function intervalText({ months, days, nanos }: { months: number; days: number; nanos: bigint }): string {
  const years = Math.trunc(months / 12);
  const date = [years && `${years}Y`, months % 12 && `${months % 12}M`, days && `${days}D`].filter(Boolean).join('');
  const size = nanos < 0n ? -nanos : nanos;
  const sign = nanos < 0n ? '-' : '';
  const seconds = size / NANOS;
  const places = placesOf(size % NANOS, 0).replace(/0+$/, '');
  const [h, m, s] = [seconds / 3_600n, (seconds / 60n) % 60n, seconds % 60n];
  const time = [
    h && `${sign}${h}H`,
    m && `${sign}${m}M`,
    (s > 0n || places !== '') && `${sign}${s}${places === '' ? '' : `.${places}`}S`,
  ]
    .filter(Boolean)
    .join('');
  if (date === '' && time === '') return 'PT0S';
  return `P${date}${time === '' ? '' : `T${time}`}`;
}

function floorOf(count: bigint, by: bigint): bigint {
  const down = count / by;
  return down * by > count ? down - 1n : down;
}

/** Of any year: beyond what Date knows, by a year of the same calendar. */
function dayText(days: bigint): string {
  const cycles = floorOf(days, CYCLE_DAYS);
  const date = new Date(Number((days - cycles * CYCLE_DAYS) * DAY_SECONDS) * MS_OF_SECOND);
  const year = BigInt(date.getUTCFullYear()) + cycles * CYCLE_YEARS;
  const size = (year < 0n ? -year : year).toString();
  const shown =
    year >= 0n && year <= 9_999n ? size.padStart(4, '0') : `${year < 0n ? '-' : '+'}${size.padStart(6, '0')}`;
  return `${shown}-${String(date.getUTCMonth() + 1).padStart(2, '0')}-${String(date.getUTCDate()).padStart(2, '0')}`;
}

function clockText(seconds: bigint): string {
  return [seconds / 3_600n, (seconds / 60n) % 60n, seconds % 60n]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
}

/** Places of a second: those that are needed of 0, 3, 6 and 9, but not fewer than `least`. */
function placesOf(nanos: bigint, least: number): string {
  const digits = String(nanos).padStart(9, '0');
  const needed = [0, 3, 6].find((places) => places >= least && /^0*$/.test(digits.slice(places))) ?? 9;
  return digits.slice(0, needed);
}
