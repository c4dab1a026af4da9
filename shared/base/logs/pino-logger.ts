import { inspect } from 'node:util';
import pino from 'pino';
import { isQuiverError } from '../errors/quiver-error';
import type { LogFields, Logger } from './logger';
import { lineRedactor, redactFields } from './redaction';

/** Enough for a wrapped native failure. The bound is needed because a chain of causes may be a circle. */
const CAUSES_MAX = 5;

/** Where finished lines go. */
export interface LogOutput {
  write(line: string): void;
  /** Resolves when every line so far is written, and in any case soon. */
  flush(): Promise<void>;
  /** Writes what is still in memory before it returns, as far as that goes at once. */
  flushNow(): void;
  /** Has `tell` called when lines can be written again after some were lost, with how many and why. */
  onLost?(tell: (lines: number, reason: string | null) => void): void;
}

export interface LoggerOptions {
  /** trace, debug, info, warn, error, fatal or silent. */
  level: string;
  /** Texts that must never be written, such as API_KEY. */
  secrets: readonly string[];
  output: LogOutput;
  /** Fields of every line, for example the role of the process. */
  base?: LogFields;
}

/**
 * The log: one JSON object per line with `level` (pino's numbers), `time` (ISO 8601), `msg`, and the fields. Secrets
 * are removed twice: by field name, and by pattern in the finished line.
 */
export function createLogger(options: LoggerOptions): Logger {
  const redactLine = lineRedactor(options.secrets);
  const logger = pino(
    {
      level: options.level,
      base: options.base ?? {},
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: plainFields },
    },
    { write: (line: string) => options.output.write(redactLine(line)) },
  );
  options.output.onLost?.((lines, reason) =>
    logger.error({ lines, reason }, 'lines of the log were lost here, because they could not be written'),
  );
  return new PinoLogger(logger, options.output);
}

/** Turns errors into data with their causes, and secrets into `[redacted]`. */
function plainFields(fields: Record<string, unknown>): Record<string, unknown> {
  const { error, ...others } = fields;
  const plain = error === undefined || error === null ? others : { ...others, error: errorFields(error) };
  return redactFields(plain) as Record<string, unknown>;
}

class PinoLogger implements Logger {
  constructor(
    private readonly logger: pino.Logger,
    private readonly output: LogOutput,
  ) {}

  debug(fields: LogFields, message: string): void {
    this.logger.debug(fields, message);
  }

  info(fields: LogFields, message: string): void {
    this.logger.info(fields, message);
  }

  warn(fields: LogFields, message: string): void {
    this.logger.warn(fields, message);
  }

  error(fields: LogFields, message: string): void {
    this.logger.error(fields, message);
  }

  fatal(fields: LogFields, message: string): void {
    this.logger.fatal(fields, message);
  }

  child(fields: LogFields): Logger {
    return new PinoLogger(this.logger.child(redactFields(fields) as Record<string, unknown>), this.output);
  }

  flush(): Promise<void> {
    return this.output.flush();
  }

  flushNow(): void {
    this.output.flushNow();
  }
}

/**
 * An error as plain data for a log line: type, message, stack, the fields of QuiverError, and the causes, outermost
 * first.
 */
function errorFields(error: unknown, causesMax = CAUSES_MAX): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: typeof error === 'string' ? error : inspect(error) };
  const code = (error as NodeJS.ErrnoException).code;
  return {
    type: error.name,
    ...(isQuiverError(error) ? { kind: error.kind, details: error.details } : code === undefined ? {} : { code }),
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined || causesMax === 0 ? {} : { cause: errorFields(error.cause, causesMax - 1) }),
  };
}
