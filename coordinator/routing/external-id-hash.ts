const BLOCK_FACTOR_1 = 0xcc9e2d51;
const BLOCK_FACTOR_2 = 0x1b873593;

/**
 * MurmurHash3_x86_32 (Appleby) with seed 0 over the UTF-16LE bytes of a text, as an unsigned 32-bit number.
 * UTF-16 because that is what a string is: no copy is made, and two ids that differ, if only by a lone surrogate, are
 * two inputs. It decides where stored items live, so it never changes; a golden test holds it.
 */
export function hashExternalId(externalId: string): number {
  const units = externalId.length;
  let hash = 0;
  let i = 0;
  for (; i + 1 < units; i += 2) {
    hash ^= mixBlock(externalId.charCodeAt(i) | (externalId.charCodeAt(i + 1) << 16));
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  if (i < units) hash ^= mixBlock(externalId.charCodeAt(i));
  hash ^= units * 2;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function mixBlock(block: number): number {
  const mixed = Math.imul(block, BLOCK_FACTOR_1);
  return Math.imul((mixed << 15) | (mixed >>> 17), BLOCK_FACTOR_2);
}
