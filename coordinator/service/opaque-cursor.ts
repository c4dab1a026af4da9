/**
 * Longer than any cursor of places by their ids: an external_id has at most 512 characters, each up to 6 in JSON and 8
 * in base64.
 */
const CURSOR_LENGTH_MAX = 8192;
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** A place in a list as a text that clients hand back as it is. */
export function cursorOf(elements: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(elements)).toString('base64url');
}

/** What a cursor was made of; empty: it is none. `lengthMax`: of those that may be longer. */
export function elementsOf(cursor: string, lengthMax = CURSOR_LENGTH_MAX): unknown[] {
  if (cursor.length > lengthMax || !BASE64URL.test(cursor)) return [];
  try {
    const json: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(json) ? json : [];
  } catch {
    return [];
  }
}
