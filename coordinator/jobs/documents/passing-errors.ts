import { isQuiverError, QuiverError, type ErrorKind } from '../../../shared/base/errors/quiver-error';
import { TextFailure } from '../../models/transformers/model-failure';

/**
 * What fails a call, and passes for a job: a disk that is full, a key of a provider that is wrong for a while, changes
 * of others.
 */
const PASSING: readonly ErrorKind[] = ['storage_failed', 'embedding_unavailable', 'conflict'];

/** An error as the driver takes it: after one that may pass, the job is tried again. */
export function passing(error: unknown): unknown {
  if (!isQuiverError(error) || !PASSING.includes(error.kind) || error instanceof TextFailure) return error;
  return retried(error);
}

/**
 * Asks what became of a write. Until that is known, no error ends the job: nobody else would find out. One that would
 * is `unavailable`, but where the collection is gone, and the write with it. Errors: unavailable; commit_unknown;
 * not_found.
 */
export async function unresolved<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked;
  } catch (error) {
    if (isQuiverError(error) && (error.retryable || error.kind === 'not_found')) throw error;
    throw retried(error);
  }
}

/** It may pass, whatever it says of itself. */
export function retried(error: unknown): QuiverError {
  const message = isQuiverError(error) ? error.message : 'it is not known whether the document was stored';
  return new QuiverError('unavailable', message, { cause: error });
}
