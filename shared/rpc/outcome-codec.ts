import { QuiverError } from '../errors/quiver-error';
import type { WriteOutcome } from '../shard/shard-client';

/** The outcomes in the order of their numbers on the wire (proto/quiver/v1/writes.proto). */
const OUTCOMES: readonly WriteOutcome[] = ['inserted', 'updated', 'deleted', 'absent', 'refused', 'outdated'];
const NUMBERS = new Map(OUTCOMES.map((outcome, number) => [outcome, number]));

/** One byte per outcome. */
export function outcomesToBytes(outcomes: readonly WriteOutcome[]): Buffer {
  return Buffer.from(outcomes.map((outcome) => NUMBERS.get(outcome) as number));
}

/** Errors: internal when a byte is not an outcome. */
export function outcomesFromBytes(bytes: Uint8Array): WriteOutcome[] {
  return Array.from(bytes, (number) => {
    const outcome = OUTCOMES[number];
    if (outcome === undefined) throw new QuiverError('internal', 'malformed outcomes');
    return outcome;
  });
}
