import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
export const SEAL_NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A text that only who has the key can read (AES-256-GCM), as base64. `sealingKey`: 256 bits, hexadecimal. `nonce`:
 * another one for each text under the same key; default: random.
 */
export function sealText(text: string, sealingKey: string, nonce: Buffer = randomBytes(SEAL_NONCE_BYTES)): string {
  const cipher = createCipheriv(ALGORITHM, Buffer.from(sealingKey, 'hex'), nonce);
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

/** null: it was sealed under another key. */
export function openText(sealed: string, sealingKey: string): string | null {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < SEAL_NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv(ALGORITHM, Buffer.from(sealingKey, 'hex'), bytes.subarray(0, SEAL_NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(SEAL_NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString(
      'utf8',
    );
  } catch {
    return null;
  }
}
