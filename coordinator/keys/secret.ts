import { hash, randomBytes } from 'node:crypto';

/** 256 bits can't be guessed, so a plain SHA-256 protects them at rest (slow hashes are for passwords). */
const SECRET_BYTES = 32;
/** Marks a Quiver key for people and secret scanners. The log's redaction looks for it, too. */
export const SECRET_PREFIX = 'qv_';

/** A new random secret that is valid in a header: the prefix and 43 characters of base64url. */
export function newSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

/** SHA-256 of a secret, the only form in which it is stored. */
export function secretDigest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
