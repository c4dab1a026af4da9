/**
 * When an item expires, as one number: 0 for never; above 0 a time that the item was given itself; below 0 one that
 * follows from the `ttl_seconds` of its collection, which the next write of the item moves on. Times are milliseconds
 * since the Unix epoch.
 */
export type Expiry = number;

/** What a write says about it. */
export interface Expiring {
  /**
   * When the item expires; null: at no time of its own. Left out: at the time of its own that it has, if it has one.
   */
  expiresAt?: number | null | undefined;
  /** An item without a time of its own expires so many milliseconds after the write; left out: never. */
  ttlMs?: number | undefined;
}

/** Infinity for an item that never expires. */
export function expiryTime(expiry: Expiry): number {
  return expiry === 0 ? Infinity : Math.abs(expiry);
}

export function isExpired(expiry: Expiry, atMs: number): boolean {
  return expiryTime(expiry) <= atMs;
}

/** When an item expires after a write of the moment `atMs`; `before`: as it was stored, 0 for a new item. */
export function expiryAfter(before: Expiry, { expiresAt, ttlMs }: Expiring, atMs: number): Expiry {
  const own = expiresAt === undefined ? Math.max(before, 0) : (expiresAt ?? 0);
  if (own > 0 || ttlMs === undefined) return own;
  return -(atMs + ttlMs);
}
