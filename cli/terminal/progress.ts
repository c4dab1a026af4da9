import { Presets, SingleBar } from 'cli-progress';
import type { CommandContext } from '../command-context';

/** Without a terminal, a line so often. */
const LINE_EVERY_MS = 10_000;
/** The rate is that of the last while, so that the time left follows what happens now, where nobody says how long. */
const RATE_OVER_MS = 10_000;

export interface Progress {
  /** `share` of the whole, 0 to 1, null when nobody knows; `rows` so far, of this run and those before it. */
  report(share: number | null, rows: number): void;
  /** A line beside the bar. */
  say(line: string): void;
  stop(): void;
}

interface ProgressOptions {
  label: string;
  unit: string;
  rowsBefore?: number;
  /** The rate is that of so long: longer where what is counted comes in bursts. */
  rateOverMs?: number;
}

/** A bar with rate and time left on a terminal, a line every ten seconds elsewhere, nothing when quiet. */
export function showProgress(context: CommandContext, options: ProgressOptions & { isQuiet: boolean }): Progress {
  if (options.isQuiet) return { report: () => {}, say: () => {}, stop: () => {} };
  return context.messages.isTTY === true ? new BarProgress(context, options) : new LineProgress(context, options);
}

/** How fast rows come, and how long the rest will take at that rate. */
class Pace {
  private readonly seen: { at: number; rows: number; share: number | null }[];

  private readonly overMs: number;

  constructor({ rowsBefore = 0, rateOverMs = RATE_OVER_MS }: ProgressOptions) {
    this.overMs = rateOverMs;
    this.seen = [{ at: performance.now(), rows: rowsBefore, share: null }];
  }

  add(share: number | null, rows: number): void {
    const at = performance.now();
    this.seen[0].share ??= share;
    this.seen.push({ at, rows, share });
    while (this.seen.length > 2 && at - this.seen[0].at > this.overMs) this.seen.shift();
  }

  get rowsPerSecond(): number {
    const [first, last] = [this.seen[0], this.seen.at(-1)!];
    return last.at > first.at ? ((last.rows - first.rows) * 1000) / (last.at - first.at) : 0;
  }

  get secondsLeft(): number | null {
    const [first, last] = [this.seen[0], this.seen.at(-1)!];
    if (first.share === null || last.share === null || last.share <= first.share) return null;
    return ((1 - last.share) * (last.at - first.at)) / (last.share - first.share) / 1000;
  }
}

class BarProgress implements Progress {
  private readonly bar: SingleBar;
  private readonly pace: Pace;

  constructor(
    private readonly context: CommandContext,
    private readonly options: ProgressOptions,
  ) {
    this.pace = new Pace(options);
    this.bar = new SingleBar(
      {
        format: '{label} {bar} {percent}  {rows}  {rate}  {left}',
        stream: context.messages as NodeJS.WritableStream,
        hideCursor: true,
        clearOnComplete: true,
        linewrap: false,
        etaBuffer: 1,
        fps: 5,
        gracefulExit: false,
      },
      Presets.shades_classic,
    );
    this.bar.start(1000, 0, this.payload(null, options.rowsBefore ?? 0));
  }

  report(share: number | null, rows: number): void {
    this.pace.add(share, rows);
    this.bar.update(Math.round((share ?? 0) * 1000), this.payload(share, rows));
  }

  say(line: string): void {
    // The bar is drawn again below it.
    this.context.messages.write(`\r\u001b[K${line}\n`);
  }

  stop(): void {
    this.bar.stop();
  }

  private payload(share: number | null, rows: number): Record<string, string> {
    const left = this.pace.secondsLeft;
    return {
      label: this.options.label,
      percent: share === null ? '' : `${Math.floor(share * 100)} %`.padStart(5),
      rows: `${rows.toLocaleString('en')} ${this.options.unit}`,
      rate: `${Math.round(this.pace.rowsPerSecond).toLocaleString('en')}/s`,
      left: left === null ? '' : `${duration(left)} left`,
    };
  }
}

class LineProgress implements Progress {
  private readonly pace: Pace;
  private last = performance.now();

  constructor(
    private readonly context: CommandContext,
    private readonly options: ProgressOptions,
  ) {
    this.pace = new Pace(options);
  }

  report(share: number | null, rows: number): void {
    this.pace.add(share, rows);
    if (performance.now() - this.last < LINE_EVERY_MS) return;
    this.last = performance.now();
    const left = this.pace.secondsLeft;
    const parts = [
      `${rows.toLocaleString('en')} ${this.options.unit}`,
      ...(share === null ? [] : [`${Math.floor(share * 100)} %`]),
      `${Math.round(this.pace.rowsPerSecond).toLocaleString('en')}/s`,
    ];
    this.say(`${this.options.label}: ${[...parts, ...(left === null ? [] : [`${duration(left)} left`])].join(', ')}`);
  }

  say(line: string): void {
    this.context.messages.write(`${line}\n`);
  }

  stop(): void {}
}

/** "42 s", "3 min 5 s", "2 h 10 min". */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
