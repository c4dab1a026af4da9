/** Ids that are remembered. */
const KNOWN_MAX = 100_000;

/** Counts the items that are left out of new shards: each once, as it was seen last. */
export class DroppedItems {
  private readonly known = new Set<string>();

  /** `total`: how many there were before. */
  constructor(private total = 0) {}

  get count(): number {
    return this.total;
  }

  note(externalId: string, isDropped: boolean): void {
    if (this.known.has(externalId) === isDropped) return;
    if (isDropped) {
      this.total += 1;
      if (this.known.size < KNOWN_MAX) this.known.add(externalId);
    } else {
      this.total -= 1;
      this.known.delete(externalId);
    }
  }
}
