import { QuiverError } from '../../base/errors/quiver-error';

/**
 * `refused`: nothing was done, because the shard is sealed or not open yet: the operation belongs to the collection's
 * other set of shards. `outdated`: nothing was done, because the term of the operation is over. `conflict`: nothing was
 * done, because the item is not as the operation expects. `withheld`: nothing was done, because another operation of
 * the write conflicts. `excess`: nothing was done, because the item's metadata would be more than they may be.
 */
export type WriteOutcome =
  | 'inserted'
  | 'updated'
  | 'deleted'
  | 'absent'
  | 'refused'
  | 'outdated'
  | 'conflict'
  | 'withheld'
  | 'excess';

/** The outcomes in the order of their numbers on the wire (proto/quiver/v1/writes.proto) and in marks. */
const OUTCOMES: readonly WriteOutcome[] = [
  'inserted',
  'updated',
  'deleted',
  'absent',
  'refused',
  'outdated',
  'conflict',
  'withheld',
  'excess',
];
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
