import { isOfModel, type ModelChoice } from '../../models/collection-embedding';
import { QuiverError } from '../../../shared/base/errors/quiver-error';

type Known = { name: string; dim: number; vectorsSince?: string | undefined } & ModelChoice;

/** Checks that a vector fits its collection; `what` names it in the message. Errors: dimension_mismatch. */
export function checkDimension(collection: Known, vector: Float32Array, what: string): void {
  if (vector.length !== collection.dim) throw dimensionMismatch(collection, vector, what);
}

export function dimensionMismatch(collection: Known, vector: Float32Array, what: string): QuiverError {
  const { embeddingModel: model, vectorsSince } = collection;
  const since = vectorsSince === undefined ? '' : `: this collection's vectors are of ${model} since ${vectorsSince}`;
  const whose = model === null ? '' : since || ` (its texts are embedded by ${model})`;
  return new QuiverError(
    'dimension_mismatch',
    `dimension mismatch: ${what} has dimension ${vector.length}, but collection "${collection.name}" has dimension ${collection.dim}${whose}`,
    {
      details: { collection: collection.name, expected: collection.dim, actual: vector.length },
    },
  );
}

/** What a caller says that its vectors are of must be the collection's model. Errors: conflict. */
export function checkVectorModel(collection: Known, model: string, what: string): void {
  const error = vectorModelConflict(collection, model, what);
  if (error !== null) throw error;
}

/** null: they are of the same model. */
export function vectorModelConflict(collection: Known, model: string, what: string): QuiverError | null {
  const isOf = isOfModel(collection, model);
  if (isOf === true) return null;
  const { name, embeddingModel } = collection;
  const given = `vector_model of ${what} is ${JSON.stringify(model)}, and collection "${name}" has`;
  const message =
    isOf === null
      ? `${given} no model that this could be compared with: make it with an embedding, or leave vector_model out`
      : `${given} vectors of ${JSON.stringify(embeddingModel)}, which can't be compared with those`;
  return new QuiverError('conflict', message, { details: { collection: name } });
}
