import { QuiverError } from '../../../shared/base/errors/quiver-error';

/** It is of one text, and stays so: the model serves others. */
export class TextFailure extends QuiverError {
  constructor(reason: string, cause?: unknown) {
    super('embedding_unavailable', reason, { cause });
  }
}

/**
 * The error for a model that can't be used, in words for clients: it names no path except those inside the model's own
 * folder.
 */
export function modelFailure(reason: string, cause?: unknown): QuiverError {
  return new QuiverError('embedding_unavailable', reason, { cause });
}
