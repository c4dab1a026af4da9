import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * The key for secrets in the outcome of one request, hexadecimal: it follows from what only the caller knows, the secret that it
 * calls with and its Idempotency-Key. So what is stored can't be read by who has the store alone.
 */
export function sealingKeyOf(callerSecret: string, idempotencyKey: string): string {
  return Buffer.from(hkdfSync('sha256', callerSecret, idempotencyKey, 'quiver idempotency secret 1', 32)).toString('hex');
}

export function sealSecret(secret: string, sealingKey: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, Buffer.from(sealingKey, 'hex'), nonce);
  return Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

/** null: it was sealed under another key. */
export function openSecret(sealed: string, sealingKey: string): string | null {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(ALGORITHM, Buffer.from(sealingKey, 'hex'), bytes.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}
