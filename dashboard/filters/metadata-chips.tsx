import type { Metadata } from '../api/shapes';
import { valueText } from '../parts/format';
import { type Condition, isFilterable } from './filter-model';

/** More make a hit hard to read; all of them are with the item. */
const CHIPS_MAX = 8;
const SHOWN_MAX = 60;

/** Metadata as buttons that filter by what they show. */
export function MetadataChips({
  metadata,
  without = [],
  onFilter,
}: {
  metadata: Metadata;
  without?: string[];
  onFilter: (condition: Condition) => void;
}) {
  const pairs = Object.entries(metadata).flatMap(([field, value]) =>
    Array.isArray(value) ? value.map((element: unknown) => [field, element] as const) : [[field, value] as const],
  );
  const shown = pairs.filter(([field, value]) => !without.includes(field) && isFilterable(value)).slice(0, CHIPS_MAX);
  return (
    <div class="chips">
      {shown.map(([field, value], i) => (
        <button
          key={`${field}/${i}`}
          type="button"
          class="chip"
          title={`Filter by ${field}`}
          onClick={() => onFilter({ field, operator: '$eq', value })}
        >
          <span class="key">{field}</span>
          <span class="value">{valueText(value).slice(0, SHOWN_MAX)}</span>
        </button>
      ))}
    </div>
  );
}
