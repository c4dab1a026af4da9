const CHECK_MS = 1_000;
/** What is due goes on in the next turn of the event loop after so long. */
const TURN_MS = 2;

interface Slow {
  act: () => void;
  /** In looks, and at which of them. */
  every: number;
  offset: number;
}

/**
 * One timer for all that is looked at every few seconds in the background, once for each of many shards: timers of
 * their own would wake a process that has nothing to do hundreds of times a second.
 */
class SlowIntervals {
  private readonly all = new Set<Slow>();
  private timer: NodeJS.Timeout | null = null;
  private looks = 0;
  private begun = 0;
  private isRunning = false;

  begin(everyMs: number, act: () => void): () => void {
    const every = Math.max(1, Math.round(everyMs / CHECK_MS));
    const slow: Slow = { act, every, offset: this.begun++ % every };
    this.all.add(slow);
    this.timer ??= setInterval(() => this.look(), CHECK_MS).unref();
    return () => this.end(slow);
  }

  private end(slow: Slow): void {
    this.all.delete(slow);
    if (this.all.size > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  private look(): void {
    this.looks += 1;
    // Those of the last look take long: what is left out is looked at after its time once more.
    if (this.isRunning) return;
    const due: Slow[] = [];
    for (const slow of this.all) if (this.looks % slow.every === slow.offset) due.push(slow);
    this.run(due, 0);
  }

  private run(due: readonly Slow[], from: number): void {
    const untilMs = performance.now() + TURN_MS;
    this.isRunning = true;
    for (let i = from; i < due.length; i += 1) {
      if (performance.now() > untilMs) return void setImmediate(() => this.run(due, i));
      if (this.all.has(due[i])) due[i].act();
    }
    this.isRunning = false;
  }
}

const intervals = new SlowIntervals();

/**
 * Calls `act` every `everyMs` milliseconds, a whole number of seconds, until the answer is called. It keeps no process
 * alive. `act` must not throw.
 */
export function slowInterval(everyMs: number, act: () => void): () => void {
  return intervals.begin(everyMs, act);
}
