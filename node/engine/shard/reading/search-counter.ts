import type { SearchCost, SearchDetail } from '../../../../shared/contract/shard/shard-read';
import { SLOT_SEARCH_PLANS, type SlotSearchCost } from '../../slots/slot-scores';

/** Counts what one search of a shard takes, step by step; it begins when it is made. */
export class SearchCounter {
  private readonly detail: SearchDetail = {
    plan: 'empty',
    expanded: 0,
    allowed: 0,
    filterMs: 0,
    queueMs: 0,
    vectorsMs: 0,
    hitsMs: 0,
    textsMs: 0,
  };
  private readonly cost: SearchCost = { scored: 0, rescored: 0, detail: this.detail };
  private atMs = performance.now();

  /** For the answer. */
  get counts(): { cost: SearchCost } {
    return { cost: this.cost };
  }

  /** It is known how many items may be answers. An index that finds these by itself says it with its answer. */
  filtered(allowed: number): void {
    this.detail.allowed = allowed;
    this.detail.filterMs += this.lap();
  }

  /** The index has answered. */
  searched({
    scored = 0,
    rescored = 0,
    expanded = 0,
    plan = 0,
    allowed,
    queueMs = 0,
    filterMs = 0,
  }: Partial<SlotSearchCost>): void {
    const { cost, detail } = this;
    if (allowed !== undefined) detail.allowed = allowed;
    cost.scored += scored;
    cost.rescored += rescored;
    detail.plan = SLOT_SEARCH_PLANS[plan];
    detail.expanded += expanded;
    detail.queueMs += queueMs;
    detail.filterMs += filterMs;
    detail.vectorsMs += Math.max(0, this.lap() - queueMs - filterMs);
  }

  made(): void {
    this.detail.hitsMs += this.lap();
  }

  readTexts(): void {
    this.detail.textsMs += this.lap();
  }

  /** Milliseconds since it was called last. */
  private lap(): number {
    const beforeMs = this.atMs;
    this.atMs = performance.now();
    return this.atMs - beforeMs;
  }
}
