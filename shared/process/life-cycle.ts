import { isQuiverError, type QuiverError } from '../errors/quiver-error';
import type { Logger } from '../logs/logger';
import { stuckThreads } from './stuck-threads';

/** A service that runs and can be stopped once. */
export interface Stoppable {
  /**
   * Ends it in order: report not ready, stop accepting, let running requests finish, flush, close. Acknowledged writes
   * are safe without this; it saves clients errors and saves work at the next start.
   */
  stop(): Promise<void>;
}

/** The convention for a process ended by a signal: 128 + the signal's number. */
const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
/**
 * Under `npm start`, Ctrl-C arrives twice: from the terminal, and some milliseconds later from npm, which forwards it.
 * A second signal within this time counts as the same key press; a person takes longer to press again.
 */
const SIGNAL_ECHO_MS = 500;
/** How long a last line of the log may take, where the process is not ended by an exit. */
const LAST_LINE_MS = 100;
/** Any failure of the process itself. */
const FAILURE_CODE = 1;

/**
 * Runs the process until a signal; the only place that ends it. SIGTERM or SIGINT stops the service and exits with 0. A
 * second signal (not an echo of the first), or a stop that takes longer than `hardStopMs`, exits at once with a
 * non-zero code. A failed start exits with 1: for a wrong configuration or environment (QuiverError) with one line on
 * standard error, otherwise with the error in the log. An uncaught exception or an unhandled rejection is a crash: it
 * is logged, the process exits with 1, and nothing else is attempted. With a thread that is stuck, the process ends by SIGKILL
 * in the place of an exit, which would wait for that thread.
 *
 * The signal that `start` gets is aborted when the process is asked to end during the start. `start` may then reject or
 * resolve; what it resolved to is stopped. `refuse` ends the process as a failed start does, at any time: for what shows
 * only later to be a wrong environment. Returns at once; the process lives as long as the service keeps it alive.
 */
export function runUntilSignal(options: { start: (ending: AbortSignal, refuse: (error: QuiverError) => void) => Promise<Stoppable>; hardStopMs: number; logger: Logger }): void {
  const { hardStopMs, logger } = options;
  const ending = new AbortController();

  const exit = (code: number): never => {
    try {
      logger.flushNow();
    } finally {
      if (stuckThreads() > 0) {
        // A line may still be on its way, in a thread that goes on.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_LINE_MS);
        process.kill(process.pid, 'SIGKILL');
      }
      process.exit(code);
    }
  };
  const crash = (error: unknown, what: string): never => {
    logger.fatal({ error }, what);
    return exit(FAILURE_CODE);
  };
  process.on('uncaughtException', (error) => crash(error, 'uncaught exception'));
  process.on('unhandledRejection', (error) => crash(error, 'unhandled rejection'));

  const end = async (signal: keyof typeof SIGNAL_CODES): Promise<void> => {
    logger.info({ signal }, 'stopping');
    setTimeout(() => {
      logger.error({ hardStopMs }, 'the stop took too long');
      exit(FAILURE_CODE);
    }, hardStopMs);
    // A start that is asked to give up may reject. Then there is nothing to stop.
    const service = await started.catch((error: unknown) => {
      logger.debug({ error }, 'the start was given up');
      return undefined;
    });
    await service?.stop();
    logger.info({}, 'stopped');
    const threads = stuckThreads();
    if (threads > 0) logger.warn({ threads }, 'a thread is stuck: the process ends by SIGKILL');
    await logger.flush();
    exit(0);
  };
  let firstSignalAtMs = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (ending.signal.aborted) {
        if (performance.now() - firstSignalAtMs < SIGNAL_ECHO_MS) return;
        logger.warn({ signal }, 'stopped hard by a second signal');
        exit(SIGNAL_CODES[signal]);
      }
      firstSignalAtMs = performance.now();
      ending.abort();
      end(signal).catch((error: unknown) => crash(error, 'the stop failed'));
    });
  }

  const refuse = (error: QuiverError): never => {
    process.stderr.write(`${error.message}\n`);
    logger.debug({ error }, 'the start failed');
    return exit(FAILURE_CODE);
  };
  // This comes last, so that the handlers are in place for signals that arrive during the start.
  const started = options.start(ending.signal, refuse);
  started.catch((error: unknown) => {
    if (ending.signal.aborted) return undefined;
    return isQuiverError(error) ? refuse(error) : crash(error, 'the start failed');
  });
}
