import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/** HKDF's salt: it only has to differ from what other programs derive of the same secret. */
const SALT = 'quiver';
const KEY_BYTES = 32;

/**
 * A key of 32 bytes for one purpose, derived from the cluster's secret (HKDF-SHA256, RFC 5869). Keys of different
 * purposes say nothing of each other, nor of the secret: a proof made for one place is of no use at another.
 */
export function derivedKey(secret: string, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, SALT, purpose, KEY_BYTES)));
}
