import type { LogFields, Logger } from '../../shared/logs/logger';
import type { ThreadHandlers, ThreadPeer } from './thread-peer';

type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/** The log on a front thread: the main thread writes the lines. Values of `fields` must be such as structured clone takes. */
export function frontLog(main: Pick<ThreadPeer, 'tell'>, own: LogFields = {}): Logger {
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
    child: (fields) => frontLog(main, { ...own, ...fields }),
    flush: () => Promise.resolve(),
    flushNow: () => undefined,
  };
}

/** What a front thread tells for {@link frontLog}. */
export function logHandlers(log: Logger): ThreadHandlers {
  return { log: (level: Level, fields: LogFields, message: string) => log[level](fields, message) };
}
