/** A read of at least this many hits is deep: building them occupies the thread for some milliseconds at once. */
const DEEP_HITS = 1000;
/** A whole item, read from its record with its vector, costs about as much as this many hits. */
export const HITS_PER_ITEM = 5;
/** Deep reads at the same time. Their answers tend to arrive together, and building 10,000 hits takes about 20 ms. */
const AT_ONCE_MAX = 2;

/** Whether a read of so many hits has to wait for its place. */
export function isDeep(hits: number): boolean {
  return hits >= DEEP_HITS;
}

/**
 * Limits how many deep reads run at once, from one bulk search or from many clients. The results of reads that arrive
 * together are built one after the other, and a small search that arrives then waits for all of them.
 */
export class DeepReads {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /** The result of `read`. If `hits` are many, it starts when there is a place. */
  run<Result>(hits: number, read: () => Promise<Result>): Promise<Result> {
    return isDeep(hits) ? this.inTurn(read) : read();
  }

  private async inTurn<Result>(read: () => Promise<Result>): Promise<Result> {
    if (this.running === AT_ONCE_MAX) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running++;
    try {
      return await read();
    } finally {
      // In a later round of the event loop, so that others run between two of them. The place goes to the next in line.
      setImmediate(() => {
        const next = this.waiting.shift();
        if (next === undefined) this.running--;
        else next();
      });
    }
  }
}
