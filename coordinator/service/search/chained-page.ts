import type { ListPart } from '../../../shared/contract/shard/shard-read';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScoredHit } from '../service';
import type { OrderedItems } from '../vectors/ordered-items';
import type { KeyDigests } from './key-digests';
import type { Ranked, RankedSearch } from './ranked-lists';
import { countFromJson, digestsFromJson, notOne, placeFromJson } from './search-chain';

/** Hits that are asked for at once, of a list that is read until a page is full. */
export const HITS = { first: 2, least: 16, most: 10_000 };
/**
 * Hits that are read beyond those of which the last is known: another replica, or an approximate search at another
 * depth, may have others before it.
 */
export const SLACK = 16;

/** A page, and what the next one begins with; null: there is none. */
export interface ChainedPage {
  ranked: Ranked;
  next: readonly unknown[] | null;
}

/** Where a part of a list begins. */
export interface PartStart extends Pick<ListPart, 'after' | 'passed'> {
  /** How many hits may come before, where `passed` says fewer of a list that a filter makes shorter. */
  passedMost?: number;
}

/** A part of a list that a chain has fixed. */
export interface ListedPart extends Pick<Ranked, 'totalCount'> {
  hits: ScoredHit[];
  /** Whether there are more that score enough. */
  isMore: boolean;
}

/** What pages need that are chosen of a list. */
export interface ChainParts {
  /** A part of the list of hits. */
  list: (search: RankedSearch, start: PartStart, k: number) => Promise<ListedPart>;
  ordered: Pick<OrderedItems<CollectionRecord>, 'read'>;
}

/** Where a page goes on in its list, and digests of what was given of it. Errors: invalid_parameter. */
export function listStart(state: readonly unknown[]): { start: PartStart; given: KeyDigests } {
  const [after = [], passed = 0, digests = ''] = state;
  if (state.length !== 0 && state.length !== 3) throw notOne();
  return { start: { after: placeFromJson(after), passed: countFromJson(passed) }, given: digestsFromJson(digests) };
}
