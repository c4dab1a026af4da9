import type { Feature } from '../../../shared/base/process/member-version';
import { type Condition, type Filter, isCondition } from '../../../shared/contract/filter/filter';

/** Conditions that nodes of an earlier version don't know: they refuse the read, and stop at a write that has one. */
const FEATURES_OF: { readonly [Type in Condition['type']]?: Feature } = { text: 'text-filters' };

/** Whether a filter asks for one of these features. */
export function needsAny(filter: Filter, features: readonly string[]): boolean {
  if (!isCondition(filter))
    return filter.type === 'not'
      ? needsAny(filter.filter, features)
      : filter.filters.some((part) => needsAny(part, features));
  const feature = FEATURES_OF[filter.type];
  return feature !== undefined && features.includes(feature);
}
