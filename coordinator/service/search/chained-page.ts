import type { ListPart } from '../../../shared/contract/shard/shard-read';
import type { ScoredHit } from '../service';
import type { Ranked } from './ranked-lists';

/** A page, and what the next one begins with; null: there is none. */
export interface ChainedPage {
  ranked: Ranked;
  next: readonly unknown[] | null;
}

/** Where a part of a list begins. */
export type PartStart = Pick<ListPart, 'after' | 'passed'>;

/** A part of a list that a chain has fixed. */
export interface ListedPart extends Pick<Ranked, 'totalCount'> {
  hits: ScoredHit[];
  /** Whether there are more that score enough. */
  isMore: boolean;
}
