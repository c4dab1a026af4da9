import { type Filter, isCondition } from '../../../shared/contract/filter/filter';

/** What a filter needs besides the lists of values that the addon has. */
export interface FilterNeeds {
  /** Tests of texts, of which the lists may have the beginning alone. */
  texts: boolean;
  /** More of a path than its values: sizes or elements of arrays, or points. */
  paths: boolean;
  /** Elements of arrays: metadata have to be read. */
  elements: boolean;
  /** Ids or times of items. */
  items: boolean;
}

/** Most filters need nothing. */
export function filterNeeds(filter: Filter): FilterNeeds {
  const needs = { texts: false, paths: false, elements: false, items: false };
  note(filter, needs);
  return needs;
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
      needs.elements ||= type === 'element';
    } else if (type === 'ids' || type === 'expiry') needs.items = true;
  } else if (filter.type === 'not') note(filter.filter, needs);
  else for (const part of filter.filters) note(part, needs);
}
