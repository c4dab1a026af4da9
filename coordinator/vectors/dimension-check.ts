import { QuiverError } from '../../shared/errors/quiver-error';

/** Checks that a vector fits its collection; `what` names it in the message. Errors: dimension_mismatch. */
export function checkDimension(collection: { name: string; dim: number; embeddingModel: string | null }, vector: Float32Array, what: string): void {
  if (vector.length === collection.dim) return;
  const { embeddingModel: model } = collection;
  const whose = model === null ? '' : ` (its texts are embedded by ${model})`;
  throw new QuiverError('dimension_mismatch', `dimension mismatch: ${what} has dimension ${vector.length}, but collection "${collection.name}" has dimension ${collection.dim}${whose}`, {
    details: { collection: collection.name, expected: collection.dim, actual: vector.length },
  });
}
