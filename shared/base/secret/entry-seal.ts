import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { derivedKey } from './derived-key';

/** A stored text starts with this, the version of its form. The seal follows, then a dot and the value itself. */
const FORM = 's1.';
/** 32 bytes in base64url without padding. */
const SEAL_LENGTH = 43;
const VALUE_AT = FORM.length + SEAL_LENGTH + 1;

/**
 * What a stored text turned out to be: `sealed` under the present secret; `sealedByOther` under the other secret, while
 * secrets are being changed; `unsealed`, as versions without seals wrote it; or `forged`.
 */
export type OpenedEntry = { seal: 'sealed' | 'sealedByOther' | 'unsealed'; value: string } | { seal: 'forged' };

/**
 * Seals of entries in the cluster store: HMAC-SHA256 over the entry's key and value, under a key derived from the
 * cluster's secret. Whoever can write to the store but does not know the secret can neither make an entry nor move one
 * to another key. A seal does not prove age: an earlier value of the same key has a valid one.
 */
export class EntrySeal {
  private readonly key: KeyObject;
  private readonly otherKey: KeyObject | null;

  /** Seals made with `otherSecret` are accepted, too. */
  constructor(secrets: { secret: string; otherSecret?: string }) {
    this.key = sealKey(secrets.secret);
    this.otherKey = secrets.otherSecret === undefined ? null : sealKey(secrets.otherSecret);
  }

  /** The text to store at `key` for `value`. */
  close(key: string, value: string): string {
    return `${FORM}${sealOf(this.key, key, value).toString('base64url')}.${value}`;
  }

  /** Opens the text that is stored at `key`. */
  open(key: string, text: string): OpenedEntry {
    if (!text.startsWith(FORM) || text[VALUE_AT - 1] !== '.') return { seal: 'unsealed', value: text };
    const given = Buffer.from(text.slice(FORM.length, VALUE_AT - 1), 'base64url');
    const value = text.slice(VALUE_AT);
    if (isEqual(given, sealOf(this.key, key, value))) return { seal: 'sealed', value };
    if (this.otherKey !== null && isEqual(given, sealOf(this.otherKey, key, value)))
      return { seal: 'sealedByOther', value };
    return { seal: 'forged' };
  }
}

function sealKey(secret: string): KeyObject {
  return derivedKey(secret, 'seals of cluster store entries, 1');
}

/** The length of the key comes first, so that no other split of the same text into key and value has the same seal. */
function sealOf(sealKey: KeyObject, key: string, value: string): Buffer {
  return createHmac('sha256', sealKey)
    .update(`${Buffer.byteLength(key)} ${key}${value}`)
    .digest();
}

function isEqual(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
