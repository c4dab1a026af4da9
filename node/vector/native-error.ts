import { QuiverError } from '../../shared/errors/quiver-error';

/**
 * What a failure of the addon is to the rest: `storage_failed` for the disk, `internal` for the others (closed, wrong
 * arguments, out of memory). The addon's own error is the cause; its message may name paths and is for the log.
 */
export function nativeError(error: unknown): QuiverError {
  if (error instanceof QuiverError) return error;
  // By its members, not its class: an addon loaded in one realm throws that realm's Error.
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  const details = { code, message };
  switch (code) {
    case 'STORAGE_FAILED':
      return new QuiverError('storage_failed', 'the vector index cannot use its disk', { cause: error, details });
    case 'CLOSED':
      return new QuiverError('internal', 'the vector index is closed', { cause: error, details });
    case 'OUT_OF_MEMORY':
      return new QuiverError('internal', 'the vector index is out of memory', { cause: error, details });
    default:
      return new QuiverError('internal', 'the vector index was used wrongly', { cause: error, details });
  }
}
