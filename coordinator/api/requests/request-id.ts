import { randomFillSync } from 'node:crypto';

/** Ids made together. They are parts of one string: each of them would else be put together of twenty. */
const BATCH = 128;
const ID_BYTES = 16;
const ID_CHARACTERS = 36;
const HEX = Buffer.from('0123456789abcdef');
const DASH = 0x2d;
/** Bytes of an id before which a dash stands (RFC 9562, section 4). */
const DASHED: ReadonlySet<number> = new Set([4, 6, 8, 10]);

const random = Buffer.alloc(BATCH * ID_BYTES);
const text = Buffer.alloc(BATCH * ID_CHARACTERS);
let ids = '';
let next = 0;

/** A random UUID (version 4), as crypto.randomUUID. */
export function newRequestId(): string {
  if (next === ids.length) {
    ids = batch();
    next = 0;
  }
  next += ID_CHARACTERS;
  return ids.slice(next - ID_CHARACTERS, next);
}

function batch(): string {
  randomFillSync(random);
  let at = 0;
  for (let i = 0; i < random.length; i++) {
    const place = i % ID_BYTES;
    let byte = random[i];
    if (place === 6) byte = (byte & 0x0f) | 0x40;
    else if (place === 8) byte = (byte & 0x3f) | 0x80;
    if (DASHED.has(place)) text[at++] = DASH;
    text[at++] = HEX[byte >> 4];
    text[at++] = HEX[byte & 15];
  }
  return text.toString('latin1');
}
