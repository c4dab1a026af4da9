/**
 * The place of an item in an order that looks random and depends on its id and the seed alone: the first n of a collection
 * are a sample of it, the same one however many shards it has. An unsigned 32-bit number; ties are in the order of ids.
 */
export function samplePlace(externalId: string, seed: number): number {
  // FNV-1a over UTF-16 code units, then the last step of MurmurHash3, because FNV alone leaves ids with one ending near each other.
  let hash = 0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1);
  for (let i = 0; i < externalId.length; i++) hash = Math.imul(hash ^ externalId.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The order of a sample's items. */
export function inSampleOrder(a: { place: number; externalId: string }, b: { place: number; externalId: string }): number {
  return a.place - b.place || (a.externalId < b.externalId ? -1 : a.externalId > b.externalId ? 1 : 0);
}
