/** A date, perhaps with a time, perhaps with an offset, as ISO 8601 and RFC 3339 write them. */
const DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?( ?(?:Z|z|[+-]\d{2}(?::?\d{2})?))?)?$/;
const DATE_CHARACTERS = 10;
/** Longer texts are no dates. */
const CHARACTERS_MAX = 48;

/** What a date is without a time, and what a time is without an offset. */
export const DATE_ONLY = 'no time';
export const LOCAL_TIME = 'no offset';

/**
 * What decides whether dates that are compared as texts come in the order of time: the offset of one (`Z`, `+02:00`),
 * DATE_ONLY or LOCAL_TIME; null: the text does not look like a date.
 */
export function dateForm(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > CHARACTERS_MAX) return null;
  const found = DATE.exec(text);
  if (found === null) return null;
  if (text.length === DATE_CHARACTERS) return DATE_ONLY;
  return found[1]?.trim() ?? LOCAL_TIME;
}
