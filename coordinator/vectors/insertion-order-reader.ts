import type { StoredItem } from '../../shared/shard/shard-read';
import type { ScrollPosition } from './scroll-cursor';

/** A shard to read, and the item in insertion order after which to continue. */
export interface ShardPosition {
  shard: number;
  after: ScrollPosition | null;
}

interface ShardQueue extends ShardPosition {
  items: StoredItem[];
  /** Index of the next item in `items`. */
  next: number;
  /** The shard has nothing beyond `items`. */
  isLast: boolean;
}

/**
 * Merges the shards of a collection by (stamp, externalId), page by page. It holds at most one page of each shard, and
 * reads all exhausted pages together. One call at a time.
 */
export class InsertionOrderReader {
  private readonly readPages: (positions: ShardPosition[], limit: number) => Promise<StoredItem[][]>;
  private readonly queues: ShardQueue[];
  private readonly pageItems: number;

  /**
   * `readPages` reads up to `limit` items from each position, fewer only at a shard's end; answers in the order of the
   * positions.
   */
  constructor(options: {
    shards: number;
    after: ScrollPosition | null;
    /** Items read from a shard at once. */
    pageItems: number;
    readPages: (positions: ShardPosition[], limit: number) => Promise<StoredItem[][]>;
  }) {
    this.readPages = options.readPages;
    this.pageItems = options.pageItems;
    this.queues = Array.from({ length: options.shards }, (_, shard) => ({ shard, after: options.after, items: [], next: 0, isLast: false }));
  }

  /** The next `count` items, fewer only at the end. */
  async take(count: number): Promise<StoredItem[]> {
    const taken: StoredItem[] = [];
    while (taken.length < count) {
      await this.refill();
      if (this.drain(taken, count) === 'ended') break;
    }
    return taken;
  }

  /** Whether nothing is left. */
  async atEnd(): Promise<boolean> {
    await this.refill();
    return this.queues.every(isEmpty);
  }

  /** Moves items to `taken` as long as the earliest item of all shards is known. */
  private drain(taken: StoredItem[], count: number): 'full' | 'dry' | 'ended' {
    while (taken.length < count) {
      let earliest: ShardQueue | null = null;
      for (const queue of this.queues) {
        if (isEmpty(queue)) {
          if (!queue.isLast) return 'dry';
        } else if (earliest === null || isBefore(queue.items[queue.next], earliest.items[earliest.next])) {
          earliest = queue;
        }
      }
      if (earliest === null) return 'ended';
      taken.push(earliest.items[earliest.next]);
      earliest.next += 1;
    }
    return 'full';
  }

  private async refill(): Promise<void> {
    const dry = this.queues.filter((queue) => isEmpty(queue) && !queue.isLast);
    if (dry.length === 0) return;
    const pages = await this.readPages(dry, this.pageItems);
    dry.forEach((queue, i) => {
      queue.items = pages[i];
      queue.next = 0;
      queue.isLast = pages[i].length < this.pageItems;
      const last = pages[i].at(-1);
      if (last !== undefined) queue.after = { stamp: last.stamp, externalId: last.externalId };
    });
  }
}

function isEmpty(queue: ShardQueue): boolean {
  return queue.next === queue.items.length;
}

/** Insertion order; equal stamps by the code units of the id. */
function isBefore(a: ScrollPosition, b: ScrollPosition): boolean {
  return a.stamp !== b.stamp ? a.stamp < b.stamp : a.externalId < b.externalId;
}
