import { createHash } from 'node:crypto';
import { UntypedBytes } from './table-values';

const DIGEST_CHARACTERS = 12;

/**
 * What tells a row without an id from others of the same number: a part of the SHA-256 of what it holds, 12 hexadecimal
 * digits. So ids that an import makes are the same for the same row, and never those of another file's row.
 */
export function rowDigest(content: unknown): string {
  const hash = createHash('sha256');
  add(hash, content);
  return hash.digest('hex').slice(0, DIGEST_CHARACTERS);
}

type Hash = ReturnType<typeof createHash>;

/** Each value behind what kind it is, so that no two are alike that are not the same. */
function add(hash: Hash, value: unknown): void {
  if (value instanceof UntypedBytes) add(hash, value.bytes);
  else if (ArrayBuffer.isView(value)) hash.update(`b${value.byteLength}:`).update(value as Uint8Array);
  else if (Array.isArray(value)) {
    hash.update(`a${value.length}:`);
    for (const each of value) add(hash, each);
  } else if (value instanceof Date) hash.update(`d${value.getTime()};`);
  else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    hash.update(`o${entries.length}:`);
    for (const [key, each] of entries) {
      add(hash, key);
      add(hash, each);
    }
  } else {
    const text = String(value);
    hash.update(`${typeof value}${text.length}:${text}`);
  }
}
