import { isatty } from 'node:tty';
import { isQuiverError, type QuiverError } from '../errors/quiver-error';
import type { Logger } from '../logs/logger';
import { sayOnStandardError } from './standard-output';
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
const SIGNAL_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
/**
 * Under `npm start`, Ctrl-C arrives twice: from the terminal, and some milliseconds later from npm, which forwards it.
 * A second signal within this time counts as the same key press; a person takes longer to press again.
 */
const SIGNAL_ECHO_MS = 500;
/** How long a last line of the log may take, where the process does not wait for it. */
const LAST_LINE_MS = 100;
/** Standard input, output and error. */
const STANDARD_FILES = [0, 1, 2];
/** Any failure of the process itself. */
const FAILURE_CODE = 1;

/**
 * Runs the process until a signal; the only place that ends it. SIGTERM or SIGINT stops the service and exits with 0,
 * and so does SIGHUP, but where it has files looked at or opened again and no terminal has gone. A second signal (not
 * an echo of the first), or a stop that takes longer than `hardStopMs`, exits at once with a non-zero code. A failed
 * start exits with 1: for a wrong configuration or environment (QuiverError) with one line on standard error, and with
 * the error in the log where it has details; otherwise with the error in the log. An uncaught exception or an unhandled
 * rejection is a crash: it is logged, the process exits with 1, and nothing else is attempted. With a thread that is
 * stuck, the process ends by SIGKILL in the place of an exit, which would wait for that thread. A log that can't be
 * written, or that nobody reads, holds no end.
 *
 * The signal that `start` gets is aborted when the process is asked to end during the start. `start` may then reject or
 * resolve; what it resolved to is stopped. `refuse` ends the process as a failed start does, at any time: for what
 * shows only later to be a wrong environment. Returns at once; the process lives as long as the service keeps it alive.
 */
export function runUntilSignal(options: {
  start: (ending: AbortSignal, refuse: (error: QuiverError) => void) => Promise<Stoppable>;
  hardStopMs: number;
  logger: Logger;
}): void {
  const { hardStopMs, logger } = options;
  const ending = new AbortController();

  const exit = (code: number): never => {
    if (stuckThreads() > 0) {
      // A line may still be on its way, in a thread that goes on.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_LINE_MS);
      process.kill(process.pid, 'SIGKILL');
    }
    return process.exit(code);
  };
  const exitNow = (code: number): never => {
    logger.flushNow();
    return exit(code);
  };
  /** As `exitNow`, but writes nothing on this thread: what holds the stop may hold the log, too. */
  const exitHard = (code: number): void => {
    setTimeout(() => exit(code), LAST_LINE_MS);
    void logger.flush().then(() => exit(code));
  };
  const crash = (error: unknown, what: string): never => {
    logger.fatal({ error }, what);
    return exitNow(FAILURE_CODE);
  };
  process.on('uncaughtException', (error) => crash(error, 'uncaught exception'));
  process.on('unhandledRejection', (error) => crash(error, 'unhandled rejection'));

  const end = async (signal: keyof typeof SIGNAL_CODES): Promise<void> => {
    logger.info({ signal }, 'stopping');
    setTimeout(() => {
      logger.error({ hardStopMs }, 'the stop took too long');
      exitHard(FAILURE_CODE);
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
  const stopBy = (signal: keyof typeof SIGNAL_CODES): void => {
    if (ending.signal.aborted) {
      if (performance.now() - firstSignalAtMs < SIGNAL_ECHO_MS) return;
      logger.warn({ signal }, 'stopped hard by a second signal');
      return exitHard(SIGNAL_CODES[signal]);
    }
    firstSignalAtMs = performance.now();
    ending.abort();
    end(signal).catch((error: unknown) => crash(error, 'the stop failed'));
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stopBy(signal));
  const terminals = STANDARD_FILES.filter((file) => isatty(file));
  process.on('SIGHUP', () => {
    // Whoever else listens looks at files that were changed. A terminal that has gone is none any more.
    const isGone = !terminals.every((file) => isatty(file));
    if (isGone || process.listenerCount('SIGHUP') === 1) stopBy('SIGHUP');
  });

  const refuse = (error: QuiverError): never => {
    sayOnStandardError(error.message + placeOf(error));
    // What the line above does not say is in the log.
    const saysAll = error.kind !== 'storage_damaged' && Object.keys(error.details).length === 0;
    logger[saysAll ? 'debug' : 'fatal']({ error }, 'the start failed');
    return exitNow(FAILURE_CODE);
  };
  // This comes last, so that the handlers are in place for signals that arrive during the start.
  const started = options.start(ending.signal, refuse);
  started.catch((error: unknown) => {
    if (ending.signal.aborted) return undefined;
    return isQuiverError(error) ? refuse(error) : crash(error, 'the start failed');
  });
}

/** Where stored data are damaged, for the line that people see; '' when the error does not say. */
function placeOf({ details }: QuiverError): string {
  const parts = [details.folder, details.place].filter((part) => typeof part === 'string' && part !== '');
  return parts.length === 0 ? '' : ` (${parts.join(': ')})`;
}
