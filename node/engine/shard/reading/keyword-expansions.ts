import { inSlices } from '../../../../shared/base/time/work-slices';
import type { ExpansionRequest, Expansions } from '../../../../shared/contract/shard/keyword-expansion';
import type { KeywordIndex } from '../../keyword/keyword-index';

/** For so long after the last question, an index keeps what only such questions need. */
const KEPT_MS = 5 * 60_000;

/** The clocks of indexes that keep it. */
const kept = new WeakMap<KeywordIndex, NodeJS.Timeout>();

/** The terms of an index that begin with one or are near to it. */
export function termsFor(keywords: KeywordIndex, request: ExpansionRequest): Promise<Expansions> {
  keepTerms(keywords);
  return inSlices(keywords.expansions(request));
}

/** Sees to it that an index lets go of the order of its terms and of other weights, some time after this. */
export function keepTerms(keywords: KeywordIndex): void {
  clearTimeout(kept.get(keywords));
  const index = new WeakRef(keywords);
  const timer = setTimeout(() => index.deref()?.dropSortedTerms(), KEPT_MS);
  kept.set(keywords, timer.unref());
}
