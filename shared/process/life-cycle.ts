import { isQuiverError } from '../errors/quiver-error';
import type { Logger } from '../logs/logger';

/** A service that runs and can be stopped once. */
export interface Stoppable {
  /**
   * Ends it in order: says unready, stops accepting, lets running requests finish, flushes, closes.
   * Acknowledged writes are safe without it; it saves clients errors and the next start work.
   */
  stop(): Promise<void>;
}

/** What shells and supervisors expect of a process ended by a signal: 128 + its number. */
const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
/**
 * Under `npm start` a Ctrl-C arrives twice, from the terminal and, some milliseconds later, from npm, which passes it on.
 * A second signal this soon is the first one's echo; a person who presses again is slower.
 */
const SIGNAL_ECHO_MS = 500;
/** Any failure of the process itself. */
const FAILURE_CODE = 1;

/**
 * The life of a process; the only place that ends it. SIGTERM or SIGINT stops the service and exits 0; a second signal
 * (not an echo of the first), or a stop that takes longer than `hardStopMs`, exits at once and non-zero. A failed start exits 1: with one line on
 * standard error when the configuration or the surroundings are at fault (QuiverError), with the error in the log else.
 * An uncaught exception or an unhandled rejection is a crash: logged and exit 1, nothing else is attempted.
 *
 * `start` gets a signal that is aborted when the process is told to end meanwhile; it may then reject or resolve, and
 * what it resolved to is stopped. Returns at once; the process lives as long as the service keeps it alive.
 */
export function runUntilSignal(options: {
  start: (ending: AbortSignal) => Promise<Stoppable>;
  hardStopMs: number;
  logger: Logger;
}): void {
  const { hardStopMs, logger } = options;
  const ending = new AbortController();

  const exit = (code: number): never => {
    try {
      logger.flushNow();
    } finally {
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
    // A start that was told to give up may reject: then there is nothing to stop.
    const service = await started.catch((error: unknown) => {
      logger.debug({ error }, 'the start was given up');
      return undefined;
    });
    await service?.stop();
    logger.info({}, 'stopped');
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

  // Last: signals that come while it starts must find their handlers.
  const started = options.start(ending.signal);
  started.catch((error: unknown) => {
    if (ending.signal.aborted) return undefined;
    if (!isQuiverError(error)) return crash(error, 'the start failed');
    process.stderr.write(`${error.message}\n`);
    logger.debug({ error }, 'the start failed');
    return exit(FAILURE_CODE);
  });
}
