import type { Filter } from '../../../shared/contract/filter/filter';
import { analysedFilter } from './analysed-filter';
import { analyserOf } from './own-stop-words';
import { queryAnalysersOf } from './query-analysers';
import { type CollectionWords, NO_RULES, synonymsOf } from './synonyms';

/**
 * A filter as the collection's synonyms, stop words and analysers of fields have it; itself where it has none. Errors:
 * limit_exceeded.
 */
export function filterIn<Given extends Filter | null>(words: CollectionWords, filter: Given): Given | Filter {
  if (filter === null) return filter;
  const analysers = queryAnalysersOf(words);
  if (analysers !== undefined) return analysedFilter(filter, analysers);
  const { synonyms, stopWords } = words;
  if (synonyms === undefined && stopWords === undefined) return filter;
  return synonymsOf(synonyms ?? NO_RULES, analyserOf(words))!.inFilter(filter);
}
