import type { RequestWarnings } from '../requests/request-warnings';
import { STRICT_FIELD } from '../fields/ignored-fields';

/** A longer body is not looked at where none is taken. */
export const NEEDLESS_BODY_BYTES = 4096;
const NO_BODY = 'this call takes no body';

/**
 * Tells of a body where none is taken, unless it says nothing but whether the request is strict, which counts. Null:
 * nobody looked at it.
 */
export function warnOfNeedlessBody(bytes: Buffer | null, warnings: RequestWarnings): undefined {
  const body = bytes === null ? null : parsed(bytes);
  if (body?.[STRICT_FIELD] === true) warnings.isStrict = true;
  const isOnlyStrict = body !== null && Object.keys(body).every((name) => name === STRICT_FIELD);
  if (!isOnlyStrict) warnings.doubt(NO_BODY, `${NO_BODY}, and what was sent was ignored`);
  return undefined;
}

/** Null: it is no JSON object. */
function parsed(bytes: Buffer): Record<string, unknown> | null {
  try {
    const body = JSON.parse(bytes.toString('utf8')) as unknown;
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
