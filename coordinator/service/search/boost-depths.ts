import type { VectorSearchResult } from '../../../shared/contract/shard/shard-read';

/** How deep the lists of a search with boosts were read that did not reach all items. */
export class BoostDepths {
  private least: number | undefined;

  note({ boostDepth }: VectorSearchResult): void {
    if (boostDepth !== undefined) this.least = Math.min(this.least ?? Infinity, boostDepth);
  }

  /** For the answer: the shallowest of any shard; nothing, where all were reached. */
  get told(): { boostDepth?: number } {
    return this.least === undefined ? {} : { boostDepth: this.least };
  }
}
