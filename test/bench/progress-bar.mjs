const BAR_WIDTH = 28;
/** Redraws per second on a terminal, and lines per minute elsewhere: enough to see life, too few to cost anything. */
const REDRAW_MS = 100;
const LINE_MS = 15_000;

/**
 * A progress bar on standard error, so that standard output stays the report. On a terminal it redraws one line;
 * elsewhere it prints a line now and then. `report` takes the number done so far and may be called as often as one
 * likes.
 */
export class ProgressBar {
  constructor({ label, total, unit = 'rows' }) {
    this.label = label;
    this.total = total;
    this.unit = unit;
    this.startedAt = performance.now();
    this.shownAt = -Infinity;
    this.first = undefined;
  }

  report(done) {
    if (done === this.last && done === this.total) return;
    this.last = done;
    const now = performance.now();
    this.first ??= { done, at: this.startedAt };
    const isTerminal = process.stderr.isTTY === true;
    if (now - this.shownAt < (isTerminal ? REDRAW_MS : LINE_MS) && done < this.total) return;
    this.shownAt = now;
    const rate = (done - this.first.done) / Math.max(1e-3, (now - this.first.at) / 1000);
    const filled = Math.round((BAR_WIDTH * Math.min(done, this.total)) / Math.max(1, this.total));
    const left = rate > 0 ? `, ${formatSeconds((this.total - done) / rate)} left` : '';
    const line = `${this.label.padEnd(24)} [${'='.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}] ${done}/${this.total} ${this.unit}, ${Math.round(rate)}/s${done < this.total ? left : ''}`;
    process.stderr.write(isTerminal ? `\r\x1b[2K${line}` : `${line}\n`);
  }

  /** Ends the line; what follows on the terminal starts below it. */
  finish() {
    if (process.stderr.isTTY === true) process.stderr.write('\n');
  }
}

function formatSeconds(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return `${Math.ceil(seconds / 60)} min`;
}
