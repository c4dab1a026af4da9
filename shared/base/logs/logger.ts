/**
 * The fields of one log line besides its message. Fields whose names mean a secret are redacted (see `redaction.ts`).
 */
export type LogFields = Readonly<Record<string, unknown>>;

/** The log of a process. An error goes under `error`, with its causes. Calls never throw and never wait. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  fatal(fields: LogFields, message: string): void;
  /** A logger that adds `fields` to each of its lines. */
  child(fields: LogFields): Logger;
  /** Resolves when all lines so far are written, and in any case soon: a log that can't be written holds nobody. */
  flush(): Promise<void>;
  /** Writes at once what is still in memory, as far as that goes: for a process that is about to end. */
  flushNow(): void;
}

/** Discards everything. */
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
