import { z } from 'zod';
import { report } from './issue';

/** A hundred years. */
export const TTL_SECONDS_MAX = 3_155_760_000;
/** The end of the year 9999, the last one with four digits. */
const LAST_MS = 253_402_300_799_999;

/** A time as milliseconds since the Unix epoch. */
const time = z.iso
  .datetime({ offset: true, error: 'must be a time in ISO 8601 with a zone, as 2030-01-31T12:00:00Z' })
  .transform((text, context): number => {
    const atMs = Date.parse(text);
    if (atMs > 0 && atMs <= LAST_MS) return atMs;
    report(context, text, 'must be a time after 1970 and before the year 10000');
    return z.NEVER;
  });

const meaning =
  'When the item expires, ISO 8601 with a zone: from then on it is gone for every read. A time that is over is ' +
  'allowed.';

/** Of a write that puts or changes an item. Here null is a value. */
export const expiresAt = time
  .nullable()
  .optional()
  .meta({
    description: `${meaning} null: at no time of its own, so that ttl_seconds of the collection counts, if it has that. Left out: at the time of its own that it has.`,
  });

/** Of an upload; a form's field that is empty counts as left out. */
export const expiresAtText = z
  .preprocess((value) => (value === '' ? undefined : value), time.optional())
  .meta({ description: meaning });
