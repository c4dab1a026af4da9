/** Names of this machine for itself, as browsers write them in an origin. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Whether a page of this origin may speak the Model Context Protocol. The protocol asks servers to check it, against pages
 * that reach a private address by a name of their own (DNS rebinding). Only browsers send the header; a page on this machine
 * is let in, others by `allowed`: origins in the form that {@link originOf} gives.
 */
export function isAllowedOrigin(header: string | undefined, allowed: readonly string[]): boolean {
  if (header === undefined) return true;
  const origin = originOf(header);
  return origin !== null && (allowed.includes(origin) || LOOPBACK.has(new URL(origin).hostname));
}

/** The origin in a text, `https://tools.example.com:8443`, without the port that its scheme has anyway; null: it is none. */
export function originOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, origin, href } = new URL(text);
  // A path, a name or a password would be more than an origin.
  return (protocol === 'http:' || protocol === 'https:') && href === `${origin}/` ? origin : null;
}
