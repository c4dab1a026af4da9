import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { CallOptions } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { deadlineTimer } from '../../../shared/base/time/deadline';

/** A read of at least this many hits is deep: building them occupies the thread for some milliseconds at once. */
export const DEEP_HITS = 1000;
/** A whole item, read from its record with its vector, costs about as much as this many hits. */
export const HITS_PER_ITEM = 5;
/** So many bytes of metadata and texts cost about as much as a hit. */
const BYTES_PER_HIT = 256;
/** Deep reads at the same time. Their answers tend to arrive together, and building 10,000 hits takes about 20 ms. */
const AT_ONCE_MAX = 2;

/** Whether a read of so many hits has to wait for its place. */
export function isDeep(hits: number): boolean {
  return hits >= DEEP_HITS;
}

/** How many hits cost as much as `count` of so many bytes each; undefined: nobody knows how many. */
export function hitsOfLength(count: number, bytes: number | undefined): number {
  return bytes === undefined || bytes <= BYTES_PER_HIT ? count : (count * bytes) / BYTES_PER_HIT;
}

/** Reads under way whose cost nobody knows; further ones are taken for deep ones, until the first is answered. */
const BLIND_MAX = 8;

/** Reads whose cost nobody knows yet. */
export class BlindReads {
  private running = 0;

  /** What such a read counts for, in hits, when it would be `cost` if all it finds is short. */
  costOf(cost: number): number {
    return this.running >= BLIND_MAX ? Math.max(cost, DEEP_HITS) : cost;
  }

  async run<Result>(read: () => Promise<Result>): Promise<Result> {
    this.running += 1;
    try {
      return await read();
    } finally {
      this.running -= 1;
    }
  }
}

interface Waiter {
  begin: () => void;
  /** Its time was over before there was a place. */
  isOver: boolean;
}

/**
 * Limits how many deep reads run at once, from one bulk search or from many clients. The results of reads that arrive
 * together are built one after the other, and a small search that arrives then waits for all of them.
 */
export class DeepReads {
  private running = 0;
  private readonly waiting: Waiter[] = [];

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /**
   * The result of `read`. If `hits` are many, it starts when there is a place. Errors: unavailable if there is none in
   * time.
   */
  run<Result>(hits: number, call: CallOptions, read: () => Promise<Result>): Promise<Result> {
    return isDeep(hits) ? this.inTurn(call, read) : read();
  }

  private async inTurn<Result>(call: CallOptions, read: () => Promise<Result>): Promise<Result> {
    if (this.running === AT_ONCE_MAX) await this.place(call);
    else this.running++;
    try {
      return await read();
    } finally {
      // In a later round of the event loop, so that others run between two of them. The place goes to the next in line.
      setImmediate(() => {
        const next = this.nextInLine();
        if (next === undefined) this.running--;
        else next.begin();
      });
    }
  }

  private place({ deadlineMs }: CallOptions): Promise<void> {
    return new Promise((done, fail) => {
      const begin = (): void => {
        clearTimeout(timer);
        done();
      };
      const waiter: Waiter = { begin, isOver: false };
      const timer = deadlineTimer(deadlineMs - this.clock.monotonicMs(), () => {
        waiter.isOver = true;
        fail(
          new QuiverError(
            'unavailable',
            'too many large reads came before this one, and its time was over; the call may be retried',
          ),
        );
      });
      this.waiting.push(waiter);
    });
  }

  private nextInLine(): Waiter | undefined {
    let next = this.waiting.shift();
    while (next?.isOver) next = this.waiting.shift();
    return next;
  }
}
