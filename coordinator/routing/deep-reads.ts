/** Hits from which on a read is deep: making so many takes the thread some milliseconds at once. */
const DEEP_HITS = 1000;
/** A whole item, read from its record with its vector, costs about as much as so many hits. */
export const HITS_PER_ITEM = 5;
/** Deep reads at the same time. Their answers tend to come together, and each of 10,000 hits takes some 20 ms to be made. */
const AT_ONCE_MAX = 2;

/**
 * Holds deep reads back where many are asked for at once, by one bulk search or by many clients: what all that come in
 * the same moment have found is made one after the other, and a small search that comes then waits for all of them.
 */
export class DeepReads {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /** What `read` gives; for `hits` that are many it begins when there is a place. */
  run<Result>(hits: number, read: () => Promise<Result>): Promise<Result> {
    return hits < DEEP_HITS ? read() : this.inTurn(read);
  }

  private async inTurn<Result>(read: () => Promise<Result>): Promise<Result> {
    if (this.running === AT_ONCE_MAX) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running++;
    try {
      return await read();
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
