import { QuiverError } from '../../shared/errors/quiver-error';

/** Checks that a vector fits its collection; `what` names it in the message. Errors: dimension_mismatch. */
export function checkDimension(collection: { name: string; dim: number }, vector: Float32Array, what: string): void {
  if (vector.length !== collection.dim) throw dimensionMismatch(collection, vector, what);
}

export function dimensionMismatch(collection: { name: string; dim: number }, vector: Float32Array, what: string): QuiverError {
  return new QuiverError('dimension_mismatch', `dimension mismatch: ${what} has dimension ${vector.length}, but collection "${collection.name}" has dimension ${collection.dim}`, {
    details: { collection: collection.name, expected: collection.dim, actual: vector.length },
  });
}
