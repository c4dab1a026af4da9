/** Field names that hold secrets, without case, `-` and `_`. */
const SECRET_NAMES = new Set(['xapikey', 'apikey', 'key', 'secret', 'authorization', 'proxyauthorization', 'cookie', 'setcookie', 'password', 'token', 'digest']);
/** A key of Quiver's own making (coordinator/keys/secret.ts), wherever it stands in a text. */
const QUIVER_KEY = /qv_[A-Za-z0-9_-]{43}/g;
/** A shorter secret is as likely part of ordinary words as a leak, and redacting it would garble every line. */
const SECRET_LENGTH_MIN = 8;
const REDACTED = '[redacted]';
/** Deeper than any line of ours; what lies below is cut off rather than searched. */
const DEPTH_MAX = 8;

/** Strings under names that mean a secret become `[redacted]`, at any depth; everything else is kept. Input is not changed. */
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
 * A function that takes secrets out of a finished line: Quiver's own keys by their form, and the given ones verbatim
 * (in their JSON spelling too), so that a secret inside a message or a stack does not get out either.
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
