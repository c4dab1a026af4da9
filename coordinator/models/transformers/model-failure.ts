import { QuiverError } from '../../../shared/base/errors/quiver-error';

/**
 * The error for a model that can't be used, in words for clients: it names no path except those inside the model's own
 * folder.
 */
export function modelFailure(reason: string, cause?: unknown): QuiverError {
  return new QuiverError('embedding_unavailable', reason, { cause });
}
