import { type Filter, isCondition, isOfItem, type WordsCondition } from '../../../shared/contract/filter/filter';

/** What a filter needs besides the lists of values that the addon has. */
export interface FilterNeeds {
  /** Tests of texts, of which the lists may have the beginning alone. */
  texts: boolean;
  /** More of a path than its values: sizes or elements of arrays, or points. */
  paths: boolean;
  /**
   * To be found in steps: elements of arrays or words of some fields, for which metadata have to be read, or words by
   * their beginning, which may be very many.
   */
  steps: boolean;
  /** Ids, times or words of items. */
  items: boolean;
  /** Words, and so the text of an item. */
  words: boolean;
  /** Those of which texts have to be read. */
  phrases: WordsCondition[];
}

/** Most filters need nothing. */
export function filterNeeds(filter: Filter): FilterNeeds {
  const needs = { texts: false, paths: false, steps: false, items: false, words: false, phrases: [] };
  note(filter, needs);
  return needs;
}

const wordAsking = new WeakMap<Filter, boolean>();

/** Whether a filter asks for words. A filter never changes, so it is looked at once. */
export function asksWords(filter: Filter): boolean {
  let asks = wordAsking.get(filter);
  if (asks === undefined) wordAsking.set(filter, (asks = filterNeeds(filter).words));
  return asks;
}

/** Whether the lists tell what passes, but for long texts. */
export function isInLists(filter: Filter): boolean {
  const { paths, items } = filterNeeds(filter);
  return !paths && !items;
}

function note(filter: Filter, needs: FilterNeeds): void {
  if (isCondition(filter)) {
    const { type } = filter;
    if (type === 'text') needs.texts = true;
    else if (type === 'size' || type === 'element' || type === 'geo') {
      needs.paths = true;
      needs.steps ||= type === 'element';
    } else if (isOfItem(filter)) {
      needs.items = true;
      needs.words ||= filter.type === 'words';
      needs.steps ||= filter.type === 'words' && (filter.paths !== undefined || filter.stands !== undefined);
      if (filter.type === 'words' && filter.match === 'phrase' && filter.paths === undefined)
        needs.phrases.push(filter);
    }
  } else if (filter.type === 'not') note(filter.filter, needs);
  else for (const part of filter.filters) note(part, needs);
}
