/** A constant of MurmurHash3. */
const BLOCK_FACTOR_1 = 0xcc9e2d51;
const BLOCK_FACTOR_2 = 0x1b873593;

/**
 * The shard that holds an item: hash mod shards. Fixed for the life of a collection, because its shard count never
 * changes.
 */
export function shardOf(externalId: string, shardCount: number): number {
  return shardCount === 1 ? 0 : hashExternalId(externalId) % shardCount;
}

/**
 * MurmurHash3_x86_32 (Appleby) with seed 0 over the UTF-16LE bytes of a text, as an unsigned 32-bit number. UTF-16
 * because a string consists of it: no copy is needed, and two different ids, even if they differ only by a lone
 * surrogate, are different inputs. The hash decides where stored items are, so it must never change; a golden test
 * checks it.
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
