/** Names of this machine for itself, as browsers write them in an origin. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Whether a page of this origin may speak the Model Context Protocol. The protocol asks servers to check it, against
 * pages that reach a private address by a name of their own (DNS rebinding). Only browsers send the header; a page on
 * this machine is let in, others by `allowed`: origins in the form that {@link originOf} gives.
 */
export function isAllowedOrigin(header: string | undefined, allowed: readonly string[]): boolean {
  if (header === undefined || isListedOrigin(header, allowed)) return true;
  const origin = originOf(header);
  return origin !== null && LOOPBACK.has(new URL(origin).hostname);
}

/** In the place of origins: every one, and pages without an origin. */
export const EVERY_ORIGIN = '*';

/** Whether a list, in the form that {@link originOf} gives, has the origin of a header. */
export function isListedOrigin(header: string, listed: readonly string[]): boolean {
  if (listed.length === 0) return false;
  const origin = originOf(header);
  return listed.includes(EVERY_ORIGIN) || (origin !== null && listed.includes(origin));
}

/**
 * The origin in a text, `https://tools.example.com:8443`, without the port that its scheme has anyway; null: it is
 * none.
 */
export function originOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, origin, href, hostname } = new URL(text);
  // A path, a name or a password would be more than an origin.
  // No origin has a star in it: one that should stand for several would be none of them.
  return (protocol === 'http:' || protocol === 'https:') && href === `${origin}/` && !hostname.includes('*')
    ? origin
    : null;
}
