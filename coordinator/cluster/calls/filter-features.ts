import type { Feature } from '../../../shared/base/process/member-version';
import { type Condition, type Filter, isCondition, isOfItem } from '../../../shared/contract/filter/filter';

/** The feature of a condition that nodes of an earlier version refuse to read, and stop at in a write. */
function featureOf(condition: Condition): Feature | null {
  if (condition.type === 'others') return 'groups';
  if (condition.type === 'size' || condition.type === 'element') return 'element-filters';
  if (condition.type === 'geo') return 'geo-filters';
  if (condition.type === 'words')
    return condition.analyser !== undefined
      ? 'field-analysers'
      : condition.stands !== undefined
        ? 'word-variants'
        : condition.match === 'phrase'
          ? 'keyword-plans'
          : 'word-filters';
  if (condition.type === 'updated') return 'updated-filter';
  if (isOfItem(condition)) return 'item-filters';
  if (condition.type === 'text' || condition.type === 'between') return 'text-filters';
  return condition.type === 'range' && typeof condition.bound === 'object' ? 'text-filters' : null;
}

/** Whether a filter asks for one of these features. */
export function needsAny(filter: Filter, features: readonly string[]): boolean {
  if (!isCondition(filter))
    return filter.type === 'not'
      ? needsAny(filter.filter, features)
      : filter.filters.some((part) => needsAny(part, features));
  const feature = featureOf(filter);
  if (feature !== null && features.includes(feature)) return true;
  return filter.type === 'element' && needsAny(filter.filter, features);
}
