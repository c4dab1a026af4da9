import { ERROR_KINDS, type ErrorKind, QuiverError, isQuiverError } from '../../base/errors/quiver-error';
import type { Failure } from '../generated/quiver/v1/shard';

/**
 * An error as it is sent. Of an error that is not a QuiverError nothing is sent, because its message may hold anything.
 */
export function failureToProto(error: unknown): Required<Failure> {
  const known = isQuiverError(error) ? error : new QuiverError('internal', 'internal error');
  return { kind: known.kind, message: known.message, code: known.code };
}

/** The error that the other side reported; `internal` when its kind is not known here. */
export function failureFromProto(failure: Failure): QuiverError {
  const kind = failure.kind ?? '';
  const known: ErrorKind = Object.hasOwn(ERROR_KINDS, kind) ? (kind as ErrorKind) : 'internal';
  return new QuiverError(known, failure.message ?? '', known === kind ? {} : { details: { kind, code: failure.code } });
}
