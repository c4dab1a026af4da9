/**
 * Longest time that long work occupies the thread at once, in milliseconds: a small search that arrives meanwhile waits
 * that long.
 */
export const TURN_MS = 8;

/**
 * Shares the JavaScript thread between pieces of long work. Work that takes longer than {@link TURN_MS} waits for its
 * next turn. Turns are given in order, one in each round of the event loop. So all small requests are served between
 * any two of them, however much long work there is.
 */
export class Turns {
  private readonly waiting: (() => void)[] = [];
  private isGiving = false;

  /** Resolves when it is the caller's turn, in a later round of the event loop. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.give();
    });
  }

  private give(): void {
    if (this.isGiving || this.waiting.length === 0) return;
    this.isGiving = true;
    setImmediate(() => {
      this.isGiving = false;
      this.waiting.shift()?.();
      this.give();
    });
  }
}
