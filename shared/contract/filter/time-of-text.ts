/** As ISO 8601 and RFC 3339 write it: a date, a time and an offset, the latter two or the last left out. */
const DATE =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?: ?(?:[Zz]|([+-])(\d{2})(?::?(\d{2}))?))?)?$/;
/** Longer texts are no dates. */
const CHARACTERS_MAX = 48;
const FRACTION_DIGITS = 6;
const NOW = /^now((?:[+-]\d{1,9}[smhdw])*)$/;
const STEPS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * The time that a text says, in milliseconds since 1970, to a microsecond; null: it is no date of the calendar, or is
 * written otherwise. Without an offset it is one in UTC, without a time its midnight. The addon reads the same
 * (node/engine/native/filter/time_of_text.h).
 */
export function timeOfText(text: string): number | null {
  if (text.length > CHARACTERS_MAX) return null;
  const found = DATE.exec(text);
  if (found === null) return null;
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((i) => Number(found[i] ?? 0));
  const [offsetHours, offsetMinutes] = [9, 10].map((i) => Number(found[i] ?? 0));
  const date = new Date(0);
  const midnight = date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  if (hour > 23 || minute > 59 || second > 60 || offsetHours > 23 || offsetMinutes > 59) return null;
  const offset = (offsetHours * 60 + offsetMinutes) * (found[8] === '-' ? -1 : 1);
  const micros = Number((found[7] ?? '').slice(0, FRACTION_DIGITS).padEnd(FRACTION_DIGITS, '0'));
  return midnight + ((hour * 60 + minute - offset) * 60 + second) * 1_000 + micros / 1_000;
}

/** The time that `now`, `now-7d` or `now+1h-30m` says (s, m, h, d, w); null: the text is none of these. */
export function timeFromNow(text: string, nowMs: number): number | null {
  const found = NOW.exec(text);
  if (found === null) return null;
  let ms = nowMs;
  for (const [, count, unit] of found[1].matchAll(/([+-]\d+)([smhdw])/g)) ms += Number(count) * STEPS[unit];
  return ms;
}
