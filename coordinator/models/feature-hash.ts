/**
 * MurmurHash3 (Austin Appleby, x86 32 bit) over UTF-16 code units, one unit per round, and its finaliser. It must never
 * change, because stored vectors depend on it; so it is our own code and not a library's.
 */
export function hashText(text: string, start: number, end: number, seed: number): number {
  let hash = seed;
  for (let i = start; i < end; i++) {
    let unit = Math.imul(text.charCodeAt(i), 0xcc9e2d51);
    unit = (unit << 15) | (unit >>> 17);
    hash ^= Math.imul(unit, 0x1b873593);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  return mixHash(hash ^ (end - start));
}

/** The finaliser of MurmurHash3: every bit of the result depends on every bit of `hash`. Unsigned. */
export function mixHash(hash: number): number {
  let mixed = hash;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
