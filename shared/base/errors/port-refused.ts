import { isQuiverError, QuiverError } from './quiver-error';

/**
 * The error of a port that can't be listened on. `port` says which, with its address; `setting` is the variable that
 * sets it.
 */
export function portRefused(port: string, setting: string, cause: Error): QuiverError {
  return new QuiverError('invalid_parameter', `the ${port} can't be opened (${setting}): ${cause.message}`, { cause });
}

/** Whether an error says that another program has the port. */
export function isPortTaken(error: unknown): boolean {
  return isQuiverError(error) && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';
}
