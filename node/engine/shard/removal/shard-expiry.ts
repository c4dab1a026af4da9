import { expiryTime, isExpired } from '../../../../shared/contract/writes/expiry';
import { inSlices } from '../../../../shared/base/time/work-slices';
import { ExpiryQueue } from '../../records/expiry-queue';
import { hideInIndexes, type IndexedItem, type ShardIndexes } from '../shard-indexes';

/** Items hidden in one step: some hundred microseconds. */
const HIDDEN_AT_ONCE = 64;

/**
 * The one clock of a shard by which items expire, and the items that have. They are taken from all indexes before
 * anything is read at a later moment, so no read has to know of them; their records are removed later, by writes. The
 * clock never goes back in the life of the shard, and follows the moments of the writes that it applies.
 */
export class ShardExpiry {
  private readonly queue = new ExpiryQueue();
  /** Slots of hidden items, and some that were. */
  private readonly hidden = new Set<number>();
  /** Ids that writes under way are about, with how many. */
  private readonly guarded = new Map<string, number>();
  private released: { done: Promise<void>; tell: () => void } | null = null;
  private hiding: Promise<void> | null = null;
  private hiddenEver = 0;
  /** The last step met guarded items only. */
  private isStuck = false;

  /** `fromMs`: a moment by which the indexes are up to date already. */
  constructor(
    private readonly indexes: ShardIndexes,
    private readonly wallMs: () => number,
    private atMs: number,
  ) {
    const { directory } = indexes;
    for (const slot of directory.expiringSlots()) {
      if (directory.isHidden(slot)) this.hidden.add(slot);
      else this.enqueue(slot, directory.expiryOf(slot));
    }
    this.publish();
  }

  /** Items hidden in the life of this shard. */
  get hiddenTotal(): number {
    return this.hiddenEver;
  }

  now(): number {
    this.advance(this.wallMs());
    return this.atMs;
  }

  /**
   * A write of this moment is applied: no later read may be of an earlier one, on other threads neither, whatever their
   * clock says.
   */
  advance(toMs: number): void {
    if (toMs <= this.atMs) return;
    this.atMs = toMs;
    if (this.queue.nextAt <= toMs) this.publish();
  }

  /** Whether any item expires: if not, nothing here costs anything. */
  get isUsed(): boolean {
    return this.queue.length > 0;
  }

  /** Whether there may be items to hide or to remove. */
  get mayHaveExpired(): boolean {
    return this.hidden.size > 0 || this.queue.nextAt <= this.now();
  }

  /** Items are about to be put into the indexes. Before other threads can find them, they must know of their times. */
  note(items: readonly IndexedItem[]): void {
    if (!items.some(({ expiry }) => expiry !== 0)) return;
    const { directory } = this.indexes;
    // Before theirs are in the queue: the directory does not know them yet.
    this.queue.tidy(
      directory.expiringCount,
      (slot, atMs) => directory.isLive(slot) && expiryTime(directory.expiryOf(slot)) === atMs,
    );
    for (const { slot, expiry } of items) if (expiry !== 0) this.enqueue(slot, expiry);
    this.publish();
  }

  /**
   * Ids that a write under way is about: until it is applied, what it finds decides whether they expire. A reader who
   * would hide one of them waits. Answers what ends that.
   */
  guard(externalIds: Iterable<string>): () => void {
    const ids = [...externalIds];
    for (const id of ids) this.guarded.set(id, (this.guarded.get(id) ?? 0) + 1);
    return () => {
      for (const id of ids.splice(0)) {
        const left = (this.guarded.get(id) ?? 1) - 1;
        if (left > 0) this.guarded.set(id, left);
        else this.guarded.delete(id);
      }
      this.released?.tell();
      this.released = null;
    };
  }

  /** Before this moment nothing has to be hidden or removed; Infinity: no item expires. */
  get restsUntilMs(): number {
    return this.hidden.size > 0 ? -Infinity : this.queue.nextAt;
  }

  /** Hides what has expired by now. Null if nothing had to be waited for, as nearly always. */
  settle(): Promise<void> | null {
    if (this.queue.nextAt === Infinity) return null;
    const atMs = this.now();
    if (this.hiding === null && this.queue.nextAt > atMs) return null;
    if (this.hiding === null && this.hideSome(atMs)) return null;
    return this.settleUpTo(atMs);
  }

  /** Ids of hidden items, whose records are to be removed. */
  removable(limit: number): string[] {
    const { directory } = this.indexes;
    const ids: string[] = [];
    for (const slot of this.hidden) {
      if (!directory.isHidden(slot)) this.hidden.delete(slot);
      else if (ids.push(directory.externalIdOf(slot)) >= limit) break;
    }
    return ids;
  }

  /** The slot of a hidden item that had expired by then and whose record is still there; null: there is none. */
  remainderOf(atMs: number): number | null {
    const { directory } = this.indexes;
    for (const slot of this.hidden) {
      if (!directory.isHidden(slot)) this.hidden.delete(slot);
      else if (isExpired(directory.expiryOf(slot), atMs)) return slot;
    }
    return null;
  }

  private async settleUpTo(atMs: number): Promise<void> {
    while (this.hiding !== null || this.queue.nextAt <= atMs) {
      this.hiding ??= this.hideAll(atMs).finally(() => (this.hiding = null));
      await this.hiding;
    }
  }

  private async hideAll(atMs: number): Promise<void> {
    await inSlices(this.steps(atMs));
    if (this.queue.nextAt > atMs) return;
    // What is left is guarded.
    let tell!: () => void;
    this.released ??= { done: new Promise<void>((done) => (tell = done)), tell: () => tell() };
    await this.released.done;
  }

  private *steps(atMs: number): Generator<undefined, void> {
    while (!this.hideSome(atMs)) {
      if (this.isStuck) return;
      yield;
    }
  }

  /** Hides a bounded number of items. Answers whether nothing is left to hide. */
  private hideSome(atMs: number): boolean {
    const { directory } = this.indexes;
    const due: number[] = [];
    const waiting: { slot: number; atMs: number }[] = [];
    for (let looks = 0; looks < HIDDEN_AT_ONCE && this.queue.nextAt <= atMs; looks += 1) {
      const time = this.queue.nextAt;
      const slot = this.queue.take();
      if (!directory.isLive(slot) || !isExpired(directory.expiryOf(slot), atMs) || due.includes(slot)) continue;
      if (this.guarded.size > 0 && this.guarded.has(directory.externalIdOf(slot))) waiting.push({ slot, atMs: time });
      else due.push(slot);
    }
    hideInIndexes(this.indexes, due);
    for (const slot of due) this.hidden.add(slot);
    this.hiddenEver += due.length;
    for (const { slot, atMs: time } of waiting) this.queue.add(slot, time);
    this.isStuck = due.length === 0 && waiting.length > 0;
    this.publish();
    return this.queue.nextAt > atMs;
  }

  private enqueue(slot: number, expiry: number): void {
    this.queue.add(slot, expiryTime(expiry));
  }

  /**
   * Other threads compare with the wall clock, and that of the shard may be ahead: what is due by this one is so by
   * theirs.
   */
  private publish(): void {
    const { nextAt } = this.queue;
    this.indexes.directory.changes.nextExpiryMs = nextAt <= this.atMs ? -Infinity : nextAt;
  }
}
