/** Writes that a service does once under an `Idempotency-Key`; it ignores the header elsewhere. By method and path. */
const DONE_ONCE = [
  /^POST \/v1\/collections(\/[^/]+\/(upsert|bulk_upsert|delete_batch|delete_by_filter|update_by_filter))?$/,
  /^POST \/v1\/collections\/[^/]+\/(quota|reshard|reembed)$/,
  /^DELETE \/v1\/collections\/[^/]+(\/reshard|\/delete\/[^/]+)?$/,
  /^PATCH \/v1\/collections\/[^/]+(\/vectors\/[^/]+)?$/,
  /^POST \/v1\/(documents(\/upload)?|aliases)$/,
  /^(POST \/v1\/admin\/keys(\/[^/]+\/rotate)?|(PATCH|DELETE) \/v1\/admin\/keys\/[^/]+)$/,
  /^(POST \/v1\/admin\/(backups|restore)|DELETE \/v1\/admin\/(backups|restores)\/[^/]+)$/,
];

/** Whether the service does it once under a key. */
export function isDoneOnce(method: string, path: string): boolean {
  return DONE_ONCE.some((pattern) => pattern.test(`${method} ${path}`));
}

/** A random UUID (version 4). Not `crypto.randomUUID`, which browsers have on secure pages only. */
export function newIdempotencyKey(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
