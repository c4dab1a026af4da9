/** Hits of a search from which on it is deep: making so many takes the thread some milliseconds at once. */
const DEEP_HITS = 1000;
/** Deep searches at the same time. Their answers tend to come together, and each of 10,000 hits takes some 20 ms to be made. */
const AT_ONCE_MAX = 2;

/**
 * Holds deep searches back where many are asked for at once, by one bulk search or by many clients: the hits of all that
 * are found in the same moment are made one after the other, and a small search that comes then waits for all of them.
 */
export class DeepSearches {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /** What `search` gives; for `hits` that are many it begins when there is a place. */
  run<Result>(hits: number, search: () => Promise<Result>): Promise<Result> {
    return hits < DEEP_HITS ? search() : this.inTurn(search);
  }

  private async inTurn<Result>(search: () => Promise<Result>): Promise<Result> {
    if (this.running === AT_ONCE_MAX) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running++;
    try {
      return await search();
    } finally {
      // In a later round of the event loop, so that others come between two of them. The place goes to the next in line.
      setImmediate(() => {
        const next = this.waiting.shift();
        if (next === undefined) this.running--;
        else next();
      });
    }
  }
}
