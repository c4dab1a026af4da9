/**
 * Allocates slots and takes them back. A freed slot is allocated again only when no reader is running that began before
 * it was freed. So a search that found the slot's old item can detect that it is gone, and never takes another item for
 * it (epoch-based reclamation, after Fraser, "Practical lock-freedom", 2004).
 *
 * Readers are counted per epoch; freeing opens a new epoch. The slots freed in an epoch can be reused once no reader of
 * that epoch or an earlier one is left.
 */
export class SlotAllocator {
  private free: number[] = [];
  private next: number;
  private epoch = 0;
  private readonly readers = new Map<number, number>();
  private readonly waiting: { epoch: number; slots: number[] }[] = [];
  /** From a freed slot that waits to the slot to which its item moved. */
  private readonly successors = new Map<number, number>();

  /** `limit`: no slot ≥ limit is in use; `free`: the unused slots below it. */
  constructor(limit = 0, free: number[] = []) {
    this.next = limit;
    this.free = free;
  }

  /** One more than the highest slot ever allocated. */
  get limit(): number {
    return this.next;
  }

  allocate(): number {
    return this.free.pop() ?? this.next++;
  }

  /** The items of the slots are gone, or have moved to the slots in `successors`. */
  release(slots: number[], successors: ReadonlyMap<number, number>): void {
    if (slots.length === 0) return;
    if (this.readers.size === 0) {
      for (const slot of slots) this.free.push(slot);
      return;
    }
    for (const [slot, successor] of successors) this.successors.set(slot, successor);
    this.waiting.push({ epoch: this.epoch, slots });
    this.epoch += 1;
  }

  /** Where the item that a reader found in `slot` is now, after any number of moves; -1 if it is gone. */
  successorOf(slot: number): number {
    let at = this.successors.get(slot);
    for (let next = at; next !== undefined; next = this.successors.get(next)) at = next;
    return at ?? -1;
  }

  /** The slots to which items have moved since a reader of `epoch` began; only the last slot of each item. */
  movedSince(epoch: number): number[] {
    const moved: number[] = [];
    for (let i = this.waiting.length - 1; i >= 0 && this.waiting[i].epoch >= epoch; i--) {
      for (const slot of this.waiting[i].slots) {
        const successor = this.successors.get(slot);
        if (successor !== undefined && !this.successors.has(successor)) moved.push(successor);
      }
    }
    return moved;
  }

  /** A reader starts; pass the number to `endRead`. */
  beginRead(): number {
    this.readers.set(this.epoch, (this.readers.get(this.epoch) ?? 0) + 1);
    return this.epoch;
  }

  endRead(epoch: number): void {
    const left = (this.readers.get(epoch) as number) - 1;
    if (left > 0) {
      this.readers.set(epoch, left);
      return;
    }
    this.readers.delete(epoch);
    // Map keys are in the order of insertion, and epochs only rise.
    const oldest = this.readers.keys().next();
    while (this.waiting.length > 0 && (oldest.done || this.waiting[0].epoch < oldest.value)) {
      for (const slot of (this.waiting.shift() as { slots: number[] }).slots) {
        this.successors.delete(slot);
        this.free.push(slot);
      }
    }
  }
}
