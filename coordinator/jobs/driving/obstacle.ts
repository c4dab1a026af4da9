import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';

/** What an error says to who may repeat the call, and nobody is to where the driver does. */
const ADVICE_TO_CALLERS = /; the call may be retried$/;

/**
 * An error of shards with the words of whose they are, for who asked about a collection. `which`: such as
 * `shard 0 of collection "c"`.
 */
export function ofShards(which: string, error: QuiverError): QuiverError {
  const { kind, message, details, shown } = error;
  return new QuiverError(kind, `${which}: ${message}`, { cause: error, details, ...(shown && { shown }) });
}

/** What keeps a driver from getting on, for people. */
export function obstacleOf(error: unknown): string {
  return isQuiverError(error) ? error.message.replace(ADVICE_TO_CALLERS, '') : 'it failed; the log says why';
}
