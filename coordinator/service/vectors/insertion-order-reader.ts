import { itemBytes, type StoredItem } from '../../../shared/contract/shard/shard-read';
import { takenFrom } from '../pages';
import type { ScrollPosition } from './scroll-cursor';

/** A shard to read, and the item in insertion order after which to continue. */
export interface ShardPosition {
  shard: number;
  after: ScrollPosition | null;
}

type Drained = 'full' | 'dry' | 'ended';

interface ShardQueue extends ShardPosition {
  items: StoredItem[];
  /** Index of the next item in `items`. */
  next: number;
  /** The shard has nothing beyond `items`. */
  isLast: boolean;
}

/**
 * Merges the shards of a collection by (stamp, externalId), page by page. It holds at most one page of each shard, and
 * reads all exhausted pages together. One call at a time. A page ends at a number of items, or soon after a number of
 * bytes.
 */
export class InsertionOrderReader {
  private readonly readPages: (positions: ShardPosition[], limit: number, bytesMax: number) => Promise<StoredItem[][]>;
  private readonly queues: ShardQueue[];
  private readonly pageItems: number;
  /** Bytes of items read from a shard at once. */
  pageBytes: number;
  /** Bytes of the items that it holds. */
  bytes = 0;

  /**
   * `readPages` reads up to `limit` items from each position, fewer only at a shard's end or after `bytesMax`; answers
   * in the order of the positions.
   */
  constructor(options: {
    shards: number;
    after: ScrollPosition | null;
    /** Items read from a shard at once. */
    pageItems: number;
    /** Bytes of items read from a shard at once; default: any number. */
    pageBytes?: number;
    readPages: (positions: ShardPosition[], limit: number, bytesMax: number) => Promise<StoredItem[][]>;
  }) {
    this.readPages = options.readPages;
    this.pageItems = options.pageItems;
    this.pageBytes = options.pageBytes ?? Infinity;
    this.queues = Array.from({ length: options.shards }, (_, shard) => ({
      shard,
      after: options.after,
      items: [],
      next: 0,
      isLast: false,
    }));
  }

  /** The next `count` items, fewer only at the end, or when they have `bytesMax`. */
  async take(count: number, bytesMax = Infinity): Promise<StoredItem[]> {
    const taken: StoredItem[] = [];
    let left = bytesMax;
    for (let state: Drained = 'dry'; state === 'dry';) {
      await this.refill();
      [state, left] = this.drain(taken, count, left);
    }
    return taken;
  }

  /** Whether nothing is left. */
  async atEnd(): Promise<boolean> {
    await this.refill();
    return this.queues.every(isEmpty);
  }

  /** Moves items to `taken` as long as the earliest item of all shards is known. */
  private drain(taken: StoredItem[], count: number, bytesMax: number): [Drained, number] {
    let left = bytesMax;
    while (taken.length < count && left > 0) {
      let earliest: ShardQueue | null = null;
      for (const queue of this.queues) {
        if (isEmpty(queue)) {
          if (!queue.isLast) return ['dry', left];
        } else if (earliest === null || isBefore(queue.items[queue.next], earliest.items[earliest.next])) {
          earliest = queue;
        }
      }
      if (earliest === null) return ['ended', left];
      const item = takenFrom(earliest.items, earliest.next);
      const bytes = itemBytes(item);
      taken.push(item);
      earliest.next += 1;
      this.bytes -= bytes;
      left -= bytes;
    }
    return ['full', left];
  }

  private async refill(): Promise<void> {
    const dry = this.queues.filter((queue) => isEmpty(queue) && !queue.isLast);
    if (dry.length === 0) return;
    const pages = await this.readPages(dry, this.pageItems, this.pageBytes);
    dry.forEach((queue, i) => {
      queue.items = pages[i];
      queue.next = 0;
      this.bytes += bytesOf(pages[i]);
      queue.isLast = isLastPage(pages[i], this.pageItems, this.pageBytes);
      const last = pages[i].at(-1);
      if (last !== undefined) queue.after = { stamp: last.stamp, externalId: last.externalId };
    });
  }
}

/**
 * Whether a shard has nothing behind a page of up to `limit` items. One that ends at its bytes may have been the last:
 * the next is empty then.
 */
export function isLastPage(page: readonly StoredItem[], limit: number, bytesMax: number): boolean {
  return page.length === 0 || (page.length < limit && bytesOf(page) < bytesMax);
}

function bytesOf(items: readonly StoredItem[]): number {
  return items.reduce((sum, item) => sum + itemBytes(item), 0);
}

function isEmpty(queue: ShardQueue): boolean {
  return queue.next === queue.items.length;
}

/** Insertion order; equal stamps by the code units of the id. */
function isBefore(a: ScrollPosition, b: ScrollPosition): boolean {
  return a.stamp !== b.stamp ? a.stamp < b.stamp : a.externalId < b.externalId;
}
