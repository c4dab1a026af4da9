import { createHmac } from 'node:crypto';
import { SEAL_NONCE_BYTES, openText, sealText } from '../../base/secret/sealed-text';

/** Of 256 bits, hexadecimal. */
const KEY_LENGTH = 64;
const KEY_FIRST = /^[0-9a-f]{64}/;

/**
 * The note of a step of a write that is done once, as it is in the operation: the sealing key of the request, and the
 * note that is kept. Both the writer and the shard name items in what is kept of such a write; only who has the
 * request can read that. The key itself is in the log only, as the ids are.
 */
export function stepNote(note: string, sealingKey: string): string {
  return sealingKey + sealText(note, sealingKey);
}

/** Whether it has a key, by which an item can be named. */
export function isStepNote(note: string): boolean {
  return KEY_FIRST.test(note);
}

/** What is kept of the note of a step. */
export function keptNote(stepped: string): string {
  return stepped.slice(KEY_LENGTH);
}

/**
 * An item's id, as it is kept with the note of a step: the same on every replica. The nonce follows from what is
 * sealed, too, because each shard seals an id of its own at the same step, and two texts under one nonce would give
 * each other away.
 */
export function sealedId(
  externalId: string,
  { token, step, note }: { token: string; step: number; note: string },
): string {
  const sealingKey = note.slice(0, KEY_LENGTH);
  // As JSON, which says any string in well-formed Unicode.
  const text = JSON.stringify(externalId);
  const nonce = createHmac('sha256', Buffer.from(sealingKey, 'hex'))
    .update(`${token} ${step} ${text}`)
    .digest()
    .subarray(0, SEAL_NONCE_BYTES);
  return sealText(text, sealingKey, nonce);
}

/** null: it was sealed under another key. */
export function openedId(sealed: string, sealingKey: string): string | null {
  const text = openText(sealed, sealingKey);
  return text === null ? null : (JSON.parse(text) as string);
}
