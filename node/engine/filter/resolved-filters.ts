import type { SlotSet } from '../slots/slot-set';

/** Filters cached: those of the queries that run concurrently, page after page. */
const FILTERS_MAX = 64;
/** Bytes of all their sets. */
const BYTES_MAX = 32 * 1024 * 1024;

/** A set that knows its size in memory. */
type SizedSlotSet = SlotSet & { readonly memoryBytes: number };

/** Results of filters, by the filter's JSON, until the index changes. */
export class ResolvedFilters {
  private readonly sets = new Map<string, SizedSlotSet>();
  private bytes = 0;

  get(key: string): SizedSlotSet | undefined {
    return this.sets.get(key);
  }

  set(key: string, slots: SizedSlotSet): void {
    const size = slots.memoryBytes + 2 * key.length;
    if (size > BYTES_MAX) return;
    if (this.sets.size >= FILTERS_MAX || this.bytes + size > BYTES_MAX) this.clear();
    this.sets.set(key, slots);
    this.bytes += size;
  }

  clear(): void {
    if (this.sets.size === 0) return;
    this.sets.clear();
    this.bytes = 0;
  }

  get memoryBytes(): number {
    return this.bytes;
  }
}
