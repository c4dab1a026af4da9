import { QuiverError } from '../../../shared/base/errors/quiver-error';

/** Checks that a vector fits its collection; `what` names it in the message. Errors: dimension_mismatch. */
type Known = { name: string; dim: number; embeddingModel: string | null };

export function checkDimension(collection: Known, vector: Float32Array, what: string): void {
  if (vector.length !== collection.dim) throw dimensionMismatch(collection, vector, what);
}

export function dimensionMismatch(collection: Known, vector: Float32Array, what: string): QuiverError {
  const { embeddingModel: model } = collection;
  const whose = model === null ? '' : ` (its texts are embedded by ${model})`;
  return new QuiverError(
    'dimension_mismatch',
    `dimension mismatch: ${what} has dimension ${vector.length}, but collection "${collection.name}" has dimension ${collection.dim}${whose}`,
    {
      details: { collection: collection.name, expected: collection.dim, actual: vector.length },
    },
  );
}
