/** Field names that hold secrets, in lower case and without `-` and `_`. */
const SECRET_NAMES = new Set([
  'xapikey',
  'apikey',
  'key',
  'secret',
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'password',
  'token',
  'digest',
]);
/** A key that Quiver made (coordinator/service/keys/secret.ts), anywhere in a text. */
const QUIVER_KEY = /qv_[A-Za-z0-9_-]{43,}/g;
/** A shorter secret is as likely a part of ordinary words as a leak, and redacting it would garble every line. */
const SECRET_LENGTH_MIN = 8;
const REDACTED = '[redacted]';
/** Deeper than any line of ours. Fields below this are cut off instead of searched. */
const DEPTH_MAX = 8;

/**
 * Replaces strings under names that mean a secret with `[redacted]`, at any depth; keeps everything else. Does not
 * change its input.
 */
export function redactFields(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (depth === DEPTH_MAX) return '[cut off]';
  if (Array.isArray(value)) return value.map((element) => redactFields(element, depth + 1));
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => {
    const secret = typeof inner === 'string' && SECRET_NAMES.has(name.toLowerCase().replace(/[-_]/g, ''));
    return [name, secret ? REDACTED : redactFields(inner, depth + 1)];
  });
  return Object.fromEntries(entries);
}

/**
 * A function that removes secrets from a finished line: Quiver's own keys by their pattern, and the given secrets
 * verbatim (also in their JSON spelling). So a secret inside a message or a stack is removed, too.
 */
export function lineRedactor(secrets: readonly string[]): (line: string) => string {
  const known = secrets.filter((secret) => secret.length >= SECRET_LENGTH_MIN);
  const spellings = [...new Set(known.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
  return (line) => {
    let clean = line.includes('qv_') ? line.replace(QUIVER_KEY, REDACTED) : line;
    for (const spelling of spellings) if (clean.includes(spelling)) clean = clean.replaceAll(spelling, REDACTED);
    return clean;
  };
}
