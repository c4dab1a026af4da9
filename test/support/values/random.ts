import { relative } from 'node:path';
import { crc32 } from 'node:zlib';

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

/**
 * The seed of this run: SEED from the environment, a new one for SEED=random, else the same at every run, of the title;
 * printed with what runs it again.
 */
export function runSeed(title: string): number {
  const { SEED } = process.env;
  const seed =
    SEED === 'random' ? Math.floor(Math.random() * 0xffffffff) : SEED === undefined ? crc32(title) : Number(SEED);
  console.log(`${title}: ${again(seed)}`);
  return seed;
}

/** The command that runs the present test file with a seed. */
export function again(seed: number): string {
  return `SEED=${seed} npm test -- ${relative(process.cwd(), expect.getState().testPath ?? '')}`;
}
