import type { Expiry } from '../../../shared/contract/writes/expiry';
import { PAGE_SLOTS, pageNumberOf, positionInPage } from './directory-pages';

/** When the items of a directory expire, by slot. It takes memory only for the pages in which some do. */
export class ExpiryColumn {
  private readonly pages: (Float64Array | undefined)[] = [];
  private pageCount = 0;
  /** How many items expire. */
  count = 0;

  /** The column of a save. */
  static of(saved: Float64Array): ExpiryColumn {
    const column = new ExpiryColumn();
    for (let slot = 0; slot < saved.length; slot += 1) if (saved[slot] !== 0) column.set(slot, saved[slot]);
    return column;
  }

  get memoryBytes(): number {
    return this.pageCount * PAGE_SLOTS * Float64Array.BYTES_PER_ELEMENT;
  }

  of(slot: number): Expiry {
    return this.pages[pageNumberOf(slot)]?.[positionInPage(slot)] ?? 0;
  }

  set(slot: number, expiry: Expiry): void {
    const number = pageNumberOf(slot);
    let page = this.pages[number];
    if (page === undefined) {
      if (expiry === 0) return;
      page = this.pages[number] = new Float64Array(PAGE_SLOTS);
      this.pageCount += 1;
    }
    const position = positionInPage(slot);
    if (page[position] !== 0) this.count -= 1;
    if (expiry !== 0) this.count += 1;
    page[position] = expiry;
  }

  /** A copy for the first `slots` slots; null if no item expires. */
  copy(slots: number): Float64Array | null {
    if (this.pageCount === 0) return null;
    const copy = new Float64Array(slots);
    for (const [number, page] of this.pages.entries()) {
      const first = number * PAGE_SLOTS;
      if (page !== undefined && first < slots) copy.set(page.subarray(0, slots - first), first);
    }
    return copy;
  }

  /** The slots of the items that expire from `low` to `high`, ascending. */
  within(low: number, high: number): number[] {
    const found: number[] = [];
    for (const [number, page] of this.pages.entries()) {
      if (page === undefined) continue;
      for (let position = 0; position < PAGE_SLOTS; position += 1) {
        const time = Math.abs(page[position]);
        if (time !== 0 && time >= low && time <= high) found.push(number * PAGE_SLOTS + position);
      }
    }
    return found;
  }

  /** The slots that have one, ascending. */
  *slots(): Iterable<number> {
    for (const [number, page] of this.pages.entries()) {
      if (page === undefined) continue;
      for (let position = 0; position < PAGE_SLOTS; position += 1)
        if (page[position] !== 0) yield number * PAGE_SLOTS + position;
    }
  }
}
