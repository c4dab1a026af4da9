import { isQuiverError, QuiverError } from './quiver-error';

/** What the address is refused with, of which every port has the same. */
const OF_ADDRESS: ReadonlySet<string | undefined> = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'EINVAL',
]);

/**
 * The error of a port that can't be listened on. `port` says which, with its address; `setting` is the variable that
 * sets it; where the address is the trouble, HOST is named.
 */
export function portRefused(port: string, setting: string, cause: Error): QuiverError {
  const named = OF_ADDRESS.has((cause as NodeJS.ErrnoException).code) ? 'HOST' : setting;
  return new QuiverError('invalid_parameter', `the ${port} can't be opened (${named}): ${cause.message}`, { cause });
}

/** Whether an error says that another program has the port. */
export function isPortTaken(error: unknown): boolean {
  return isQuiverError(error) && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';
}
