/** Facts of one log line besides its message. Names that mean a secret are redacted (see `redaction.ts`). */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where every part of a process tells what happened. An error goes under `error`, with its causes.
 * Calls never throw and never wait.
 */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  fatal(fields: LogFields, message: string): void;
  /** A logger that adds `fields` to each of its lines. */
  child(fields: LogFields): Logger;
  /** Resolves when every line so far is written out, in order. */
  flush(): Promise<void>;
  /** Writes out what is still in memory, at once: for a process that has no time left. */
  flushNow(): void;
}

/** Says nothing. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: () => undefined,
  child: () => silentLogger,
  flush: () => Promise.resolve(),
  flushNow: () => undefined,
};
