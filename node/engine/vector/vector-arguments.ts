import { QuiverError } from '../../../shared/base/errors/quiver-error';

/**
 * Slots from this number on are refused. Tables over slots are dense, so a wrong number (a bug of the caller) must not
 * cause an allocation of gigabytes. 2^30 slots are far more than one shard can hold in memory.
 */
export const SLOT_LIMIT = 2 ** 30;

/** Errors: internal unless `vectors` holds slots.length × dim numbers and every slot is below {@link SLOT_LIMIT}. */
export function checkPut(slots: Uint32Array, vectors: Float32Array, dim: number): void {
  if (vectors.length !== slots.length * dim) {
    throw new QuiverError('internal', `${slots.length} slots of dimension ${dim} given ${vectors.length} numbers`);
  }
  for (const slot of slots) {
    if (slot >= SLOT_LIMIT) throw new QuiverError('internal', `slot ${slot} is out of range`);
  }
}

/** Errors: internal unless the query has `dim` numbers and k is a whole number from 1. */
export function checkQuery(query: Float32Array, k: number, dim: number): void {
  if (query.length !== dim) throw new QuiverError('internal', `a query of ${query.length} numbers, dimension ${dim}`);
  if (!Number.isInteger(k) || k < 1) throw new QuiverError('internal', `k is ${k}`);
}
