/**
 * Slots that went to another row while searches were under way, as long as one of these searches may have missed them.
 * A search remembers its place as a number that stays the same, whatever is dropped.
 */
export class MovedSlots {
  private readonly parts: Uint32Array[] = [];
  /** Parts that were dropped: the number of the first that is kept. */
  private dropped = 0;
  /** The places of searches under way, oldest first. */
  private readonly searches = new Set<{ readonly from: number }>();

  /** Parts that are kept. */
  get size(): number {
    return this.parts.length;
  }

  /** `slots` is copied. */
  add(slots: Uint32Array): void {
    if (this.searches.size > 0) this.parts.push(slots.slice());
  }

  /** A search begins; it ends with {@link end}. */
  begin(): { readonly from: number } {
    const search = { from: this.dropped + this.parts.length };
    this.searches.add(search);
    return search;
  }

  /** What was added since a search began that has not ended. */
  since(search: { readonly from: number }): Uint32Array[] {
    return this.parts.slice(search.from - this.dropped);
  }

  /** Drops what no other search needs. */
  end(search: { readonly from: number }): void {
    this.searches.delete(search);
    const [oldest] = this.searches;
    const count = oldest === undefined ? this.parts.length : oldest.from - this.dropped;
    this.parts.splice(0, count);
    this.dropped += count;
  }
}
