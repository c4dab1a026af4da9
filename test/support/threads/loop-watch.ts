/** How late the event loop of this process is, from the moment it is made. */
export class LoopWatch {
  /** The longest time between two rounds of the loop, in milliseconds. */
  longestMs = 0;
  rounds = 0;
  private lastMs = performance.now();
  private isStopped = false;

  constructor() {
    this.next();
  }

  stop(): void {
    this.isStopped = true;
    this.note();
  }

  private next(): void {
    setImmediate(() => {
      if (this.isStopped) return;
      this.note();
      this.rounds++;
      this.next();
    });
  }

  private note(): void {
    const nowMs = performance.now();
    this.longestMs = Math.max(this.longestMs, nowMs - this.lastMs);
    this.lastMs = nowMs;
  }
}
