/** Letters that need no encoding in any place where a prefix is written; `.` and `..` alone would be other folders. */
const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/;
/** Of a header that anybody may have sent to the proxy. */
const LENGTH_MAX = 256;

/**
 * A path that stands before all others, as `/tools/quiver`: without the slash at its end, '' for the root. null: it is
 * none that may be written into links (`//elsewhere`, quotes, encoded letters).
 */
export function prefixIn(text: string): string | null {
  if (text.length > LENGTH_MAX) return null;
  const path = text.endsWith('/') ? text.slice(0, -1) : text;
  return path === '' || PREFIX.test(path) ? path : null;
}
