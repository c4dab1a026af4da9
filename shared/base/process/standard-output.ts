import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { humanLine } from '../logs/human-line';
import { LineOutput } from './line-output';
import type { LogOutput } from '../logs/pino-logger';

const OUTPUT = 1;
const ERRORS = 2;

/**
 * Standard output of the process: the log, as readable lines on a terminal (coloured unless NO_COLOR is set), otherwise
 * JSON, and what else goes there. All of it goes through here, because a line may be written in two parts. A reader
 * that goes away (`| head`) or stands still does not end the process, and neither does a full disk.
 */
export class StandardOutput implements LogOutput {
  readonly lines: LineOutput;
  private readonly isTerminal = isatty(OUTPUT);
  private readonly hasColours: boolean;

  /** One for each process, in its main thread. */
  constructor(environment: Readonly<Record<string, string | undefined>>) {
    guardStandardStreams();
    this.lines = openLines(OUTPUT);
    this.hasColours = this.isTerminal && !environment.NO_COLOR;
  }

  write(line: string): void {
    this.lines.write(this.isTerminal ? humanLine(line, this.hasColours) : line);
  }

  flush(): Promise<void> {
    return this.lines.flush();
  }

  flushNow(): void {
    this.lines.flushNow();
  }

  onLost(tell: (lines: number, reason: string | null) => void): void {
    this.lines.onLost = tell;
  }
}

/**
 * Says a line on standard error before it returns, as far as that goes within a fifth of a second: for a process that
 * ends.
 */
export function sayOnStandardError(text: string): void {
  guardStandardStreams();
  const lines = openLines(ERRORS);
  lines.write(`${text}\n`);
  lines.flushNow();
}

/**
 * Node and libraries write there, too: warnings, above all. An error of that is no reason to end, and with the streams
 * open, Node has set O_NONBLOCK on pipes and sockets, so that no write waits for who reads there.
 */
function guardStandardStreams(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore);
  }
}

function ignore(): void {
  // Nobody is there to be told.
}

function openLines(file: number): LineOutput {
  const stat = fstatSync(file);
  if (stat.isFIFO() || isatty(file)) {
    const own = openAnew(file);
    if (own !== null) return new LineOutput({ file: own, mayBlock: false });
  }
  return new LineOutput({ file, mayBlock: !stat.isFIFO() && !stat.isSocket() });
}

/**
 * A pipe or terminal with flags of its own, so that whoever else has it open does not take O_NONBLOCK from it; null
 * where the system does not offer that (it is of Linux) or the user may not.
 */
function openAnew(file: number): number | null {
  try {
    return openSync(
      `/proc/self/fd/${file}`,
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_APPEND,
    );
  } catch {
    return null;
  }
}
