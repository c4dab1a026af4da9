/** Stale entries are thrown out when so many more entries than items are in the queue. */
const STALE_MIN = 4096;

/**
 * The slots of a shard's items by when they expire, the earliest first (a binary heap). An entry stays when its item
 * goes or gets another time: whoever takes it looks whether it still holds.
 */
export class ExpiryQueue {
  private readonly times: number[] = [];
  private readonly slots: number[] = [];

  /** When the earliest entry is due; Infinity if there is none. */
  get nextAt(): number {
    return this.times.length === 0 ? Infinity : this.times[0];
  }

  get length(): number {
    return this.times.length;
  }

  add(slot: number, atMs: number): void {
    const { times, slots } = this;
    let at = times.length;
    times.push(atMs);
    slots.push(slot);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (times[parent] <= atMs) break;
      times[at] = times[parent];
      slots[at] = slots[parent];
      at = parent;
    }
    times[at] = atMs;
    slots[at] = slot;
  }

  /** The earliest entry's slot, which leaves the queue. There must be one. */
  take(): number {
    const { times, slots } = this;
    const [first] = slots;
    const atMs = times.pop() as number;
    const slot = slots.pop() as number;
    const count = times.length;
    if (count === 0) return first;
    this.sink(0, slot, atMs);
    return first;
  }

  /** Throws out what `holds` does not answer true for, if there may be much of it: `count` items are in the queue. */
  tidy(count: number, holds: (slot: number, atMs: number) => boolean): void {
    if (this.times.length < 2 * count + STALE_MIN) return;
    const { times, slots } = this;
    let kept = 0;
    for (let i = 0; i < times.length; i += 1) {
      if (!holds(slots[i], times[i])) continue;
      times[kept] = times[i];
      slots[kept] = slots[i];
      kept += 1;
    }
    times.length = kept;
    slots.length = kept;
    for (let at = (kept >> 1) - 1; at >= 0; at -= 1) this.sink(at, slots[at], times[at]);
  }

  /** Puts an entry at this place of the heap, or below it. */
  private sink(from: number, slot: number, atMs: number): void {
    const { times, slots } = this;
    const count = times.length;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && times[child + 1] < times[child]) child += 1;
      if (times[child] >= atMs) break;
      times[at] = times[child];
      slots[at] = slots[child];
      at = child;
    }
    times[at] = atMs;
    slots[at] = slot;
  }
}
