import { QuiverError } from '../../../shared/errors/quiver-error';

/** Why a model can't be had, in words fit for clients: no path but those inside the model's own folder. */
export function modelFailure(reason: string, cause?: unknown): QuiverError {
  return new QuiverError('embedding_unavailable', reason, { cause });
}
