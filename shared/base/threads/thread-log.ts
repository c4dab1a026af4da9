import type { LogFields, Logger } from '../logs/logger';
import type { ThreadHandlers, ThreadPeer } from './thread-peer';

type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/**
 * The log on a thread that serves: the main thread writes the lines. Values of `fields` must be such as structured
 * clone takes.
 */
export function threadLog(main: Pick<ThreadPeer, 'tell'>, own: LogFields = {}): Logger {
  const line =
    (level: Level) =>
    (fields: LogFields, message: string): void =>
      main.tell('log', level, { ...own, ...fields }, message);
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    fatal: line('fatal'),
    child: (fields) => threadLog(main, { ...own, ...fields }),
    flush: () => Promise.resolve(),
    flushNow: () => undefined,
  };
}

/** What such a thread tells for {@link threadLog}. */
export function logHandlers(log: Logger): ThreadHandlers {
  return { log: (level: Level, fields: LogFields, message: string) => log[level](fields, message) };
}
