/** A small seeded generator (mulberry32): the same seed gives the same run everywhere. Answers numbers in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The seed of this run: SEED from the environment, else a new one; printed so that a failure can be repeated. */
export function runSeed(title: string): number {
  const seed = process.env.SEED === undefined ? Math.floor(Math.random() * 0xffffffff) : Number(process.env.SEED);
  console.log(`${title}: SEED=${seed}`);
  return seed;
}
