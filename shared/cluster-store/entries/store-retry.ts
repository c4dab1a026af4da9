import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../base/errors/quiver-error';
import type { Logger } from '../../base/logs/logger';

const RETRY_MS = 500;

/** What a start does with each step that needs the cluster store. */
export type UntilStoreAnswers = <Result>(attempt: () => Promise<Result>) => Promise<Result>;

/**
 * Repeats an attempt until it succeeds, for a start that has to wait for the cluster store. Logs once that it waits.
 * Errors: unavailable when the process is asked to end meanwhile. An error that is not retryable is thrown at once.
 */
export function retryUntilStoreAnswers({
  stopSignal,
  log,
}: {
  stopSignal: AbortSignal;
  log: Logger;
}): UntilStoreAnswers {
  return async (attempt) => {
    for (let failed = false; ; failed = true) {
      try {
        return await attempt();
      } catch (error) {
        if (!isQuiverError(error) || !error.retryable) throw error;
        if (stopSignal.aborted)
          throw new QuiverError('unavailable', 'gave up waiting for the cluster store', { cause: error });
        if (!failed) log.warn({ error }, "the cluster store can't be reached; waiting for it");
      }
      await sleep(RETRY_MS, undefined, { signal: stopSignal }).catch(() => undefined);
    }
  };
}
