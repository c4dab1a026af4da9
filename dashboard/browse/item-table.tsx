import type { StoredItem } from '../api/shapes';
import { type Condition, isFilterable } from '../filters/filter-model';
import { valueText } from '../parts/format';
import type { Sort } from './columns';

/** Of a text or a value, what a cell shows. */
const TEXT_MAX = 140;
const VALUE_MAX = 60;

interface ItemTableProps {
  items: StoredItem[];
  columns: string[];
  sort: Sort | null;
  /** Ids that are ticked; null: nothing can be. */
  chosen: string[] | null;
  onSort: (sort: Sort | null) => void;
  onChoose: (ids: string[]) => void;
  onItem: (id: string) => void;
  onFilter: (condition: Condition) => void;
}

export function ItemTable({ items, columns, sort, chosen, onSort, onChoose, onItem, onFilter }: ItemTableProps) {
  const hasText = items.some(({ text }) => text !== null && text !== '');
  const header = (field: string | null, label: string) => (
    <th
      scope="col"
      aria-sort={sort?.field !== field || sort === null ? 'none' : sort.isRising ? 'ascending' : 'descending'}
    >
      <button type="button" onClick={() => onSort(nextSort(sort, field))}>
        {label}
        <span aria-hidden="true">{sort === null || sort.field !== field ? '' : sort.isRising ? '↑' : '↓'}</span>
      </button>
    </th>
  );
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Table of items">
      <table class="items">
        <thead>
          <tr>
            {chosen !== null && (
              <th scope="col">
                <input
                  type="checkbox"
                  aria-label="Choose all"
                  checked={chosen.length > 0 && chosen.length >= items.length}
                  onChange={(event) =>
                    onChoose(event.currentTarget.checked ? items.map(({ external_id: id }) => id) : [])
                  }
                />
              </th>
            )}
            {header(null, 'external_id')}
            {hasText && <th scope="col">Text</th>}
            {columns.map((field) => header(field, field))}
          </tr>
        </thead>
        <tbody>
          {items.map(({ external_id: id, text, metadata }) => (
            <tr key={id}>
              {chosen !== null && (
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Choose ${id}`}
                    checked={chosen.includes(id)}
                    onChange={(event) =>
                      onChoose(event.currentTarget.checked ? [...chosen, id] : chosen.filter((one) => one !== id))
                    }
                  />
                </td>
              )}
              <th scope="row">
                <button type="button" class="link break" onClick={() => onItem(id)}>
                  {id}
                </button>
              </th>
              {hasText && <td class="text-cell break">{cut(text ?? '', TEXT_MAX)}</td>}
              {columns.map((field) => (
                <td key={field}>
                  <Value field={field} value={metadata[field]} onFilter={onFilter} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Value({
  field,
  value,
  onFilter,
}: {
  field: string;
  value: unknown;
  onFilter: (condition: Condition) => void;
}) {
  if (value === undefined) return null;
  if (Array.isArray(value) && value.length > 0 && value.length <= 6 && value.every(isFilterable)) {
    return (
      <span class="chips">
        {value.map((element: unknown, i) => (
          <Value key={i} field={field} value={element} onFilter={onFilter} />
        ))}
      </span>
    );
  }
  if (!isFilterable(value)) return <span class="mono break">{cut(valueText(value), VALUE_MAX)}</span>;
  return (
    <button
      type="button"
      class="chip"
      title={`Filter by ${field}`}
      onClick={() => onFilter({ field, operator: '$eq', value })}
    >
      <span class="value">{cut(valueText(value), VALUE_MAX)}</span>
    </button>
  );
}

/** Rising, falling, and as it came. */
function nextSort(sort: Sort | null, field: string | null): Sort | null {
  if (sort === null || sort.field !== field) return { field, isRising: true };
  return sort.isRising ? { field, isRising: false } : null;
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}
