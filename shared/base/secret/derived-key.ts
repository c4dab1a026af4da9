import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/** HKDF's salt: it only has to differ from the salts with which other programs derive keys from the same secret. */
const SALT = 'quiver';
const KEY_BYTES = 32;

/**
 * A key of 32 bytes for one purpose, derived from the cluster's secret (HKDF-SHA256, RFC 5869). Keys of different
 * purposes reveal nothing about each other or the secret, so a proof made for one purpose is useless for another.
 */
export function derivedKey(secret: string, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, SALT, purpose, KEY_BYTES)));
}
