import { isQuiverError, QuiverError } from '../errors/quiver-error';
import type { Logger } from '../logs/logger';

const RETRY_MS = 500;

/**
 * Repeats `attempt` until it succeeds, for a start that has to wait for something outside. Logs once that it waits.
 * Errors: unavailable when the process is asked to end meanwhile. An error that is not retryable is thrown at once.
 */
export async function reached<Result>(what: string, attempt: () => Promise<Result>, options: { ending: AbortSignal; log: Logger }): Promise<Result> {
  for (let failed = false; ; failed = true) {
    try {
      return await attempt();
    } catch (error) {
      if (!isQuiverError(error) || !error.retryable) throw error;
      if (!failed) options.log.warn({ error }, `${what} can't be reached; waiting for it`);
    }
    if (options.ending.aborted) throw new QuiverError('unavailable', `gave up waiting for ${what}`);
    await new Promise<void>((wake) => {
      const timer = setTimeout(wake, RETRY_MS);
      const end = (): void => {
        clearTimeout(timer);
        wake();
      };
      options.ending.addEventListener('abort', end, { once: true });
    });
  }
}
