import { inspect } from 'node:util';
import pino from 'pino';
import { isQuiverError } from '../errors/quiver-error';
import { humanLine } from './human-line';
import type { LogFields, Logger } from './logger';
import { lineRedactor, redactFields } from './redaction';

/** Enough for a wrapped native failure. The bound is needed because a chain of causes may be a circle. */
const CAUSES_MAX = 5;

/** Every line is longer than this. With a minimum length of 0, flushing would not wait for background writes. */
const FLUSHABLE_BYTES = 1;

/** Where finished lines go. */
export interface LogOutput {
  write(line: string): void;
  /** Resolves when every line so far is written. */
  flush(): Promise<void>;
  /** Writes what is still in memory before it returns. A line that is being written in the background may come after it. */
  flushNow(): void;
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
  return new PinoLogger(logger, options.output);
}

/**
 * Standard output: readable lines on a terminal (coloured unless NO_COLOR is set), otherwise JSON. Lines are written in
 * the background, several at once if they come together. A reader that goes away (`| head`) does not end the process.
 */
export function standardOutput(environment: Readonly<Record<string, string | undefined>>): LogOutput {
  const destination = pino.destination({ dest: 1, sync: false, minLength: FLUSHABLE_BYTES });
  const isTerminal = process.stdout.isTTY === true;
  const colours = isTerminal && !environment.NO_COLOR;
  return {
    write: (line) => void destination.write(isTerminal ? humanLine(line, colours) : line),
    flush: () => new Promise((done) => destination.flush(() => done())),
    flushNow: () => destination.flushSync(),
  };
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

/** An error as plain data for a log line: type, message, stack, the fields of QuiverError, and the causes, outermost first. */
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
