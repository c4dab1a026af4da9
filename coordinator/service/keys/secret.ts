import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** 256 bits can't be guessed, so a plain SHA-256 protects them at rest (slow hashes are for passwords). */
const SECRET_BYTES = 32;
/** Of the checksum at the end: a mistyped key passes for one in 4 billion. */
const CHECKSUM_BYTES = 4;
/** Marks a Quiver key for people and secret scanners. The log's redaction looks for it, too. */
export const SECRET_PREFIX = 'qv_';

/** In base64url, without padding. */
const RANDOM_LENGTH = Math.ceil((SECRET_BYTES * 4) / 3);
const CHECKSUM_LENGTH = Math.ceil((CHECKSUM_BYTES * 4) / 3);

/**
 * A new random secret that is valid in a header: the prefix, 43 characters of base64url, and 6 more that are their
 * checksum (CRC-32). Secret scanners find it as `qv_[A-Za-z0-9_-]{49}`.
 */
export function newSecret(): string {
  const random = randomBytes(SECRET_BYTES).toString('base64url');
  return SECRET_PREFIX + random + checksumOf(random);
}

/**
 * Whether a text that is nobody's secret was meant to be a generated one and is not as it was made: mistyped, cut off
 * or grown. Secrets of earlier versions have no checksum, so nothing is said of their length; nor of those that people
 * chose.
 */
export function isMistyped(secret: string): boolean {
  if (!secret.startsWith(SECRET_PREFIX)) return false;
  const rest = secret.slice(SECRET_PREFIX.length);
  if (rest.length === RANDOM_LENGTH) return false;
  const random = rest.slice(0, RANDOM_LENGTH);
  return rest.length !== RANDOM_LENGTH + CHECKSUM_LENGTH || rest.slice(RANDOM_LENGTH) !== checksumOf(random);
}

function checksumOf(random: string): string {
  const bytes = Buffer.alloc(CHECKSUM_BYTES);
  bytes.writeUInt32BE(crc32(SECRET_PREFIX + random));
  return bytes.toString('base64url');
}

/** SHA-256 of a secret, the only form in which it is stored. */
export function secretDigest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
