import { useEffect, useRef, useState } from 'preact/hooks';
import { call, isAbort, messageOf, path } from '../api/client';
import type { Collection, StoredItem } from '../api/shapes';
import { deleteWithUndo, UNDO_MAX } from '../collection/stored-item';
import {
  type Condition,
  conditionsFromParameter,
  filtersOf,
  parameterOf,
  withCondition,
} from '../filters/filter-model';
import { FacetPanel } from '../filters/facet-panel';
import { FilterBar } from '../filters/filter-bar';
import { count, plural } from '../parts/format';
import { Busy, Failure } from '../parts/notice';
import { replaceQuery, route } from '../state/route';
import { mayWrite } from '../state/session';
import { fieldPaths } from '../search/field-paths';
import { tell } from '../state/toasts';
import { columnsOf, fieldsOf, type Sort, sorted } from './columns';
import { ItemTable } from './item-table';

const PAGE = 50;

interface Loaded {
  items: StoredItem[];
  /** How many match, exactly. */
  total: number;
  cursor: string | null;
}

export function BrowsePage({ collection, onItem }: { collection: Collection; onItem: (id: string) => void }) {
  const [conditions, setConditions] = useState(() => conditionsFromParameter(route.value.query.get('where')));
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [known, setKnown] = useState<string[]>([]);
  const [sort, setSort] = useState<Sort | null>(null);
  const [hidden, setHidden] = useState<string[]>([]);
  const [chosen, setChosen] = useState<string[]>([]);
  const running = useRef<AbortController | null>(null);

  const load = async (where: Condition[], after: Loaded | null): Promise<void> => {
    running.current?.abort();
    const stop = new AbortController();
    running.current = stop;
    setBusy(true);
    try {
      const filters = filtersOf(where);
      const body = {
        limit: PAGE,
        include_vectors: false,
        ...(filters === undefined ? {} : { filters }),
        ...(after === null || after.cursor === null ? {} : { cursor: after.cursor }),
      };
      const [answer, total] = await Promise.all([
        call<'post_collections_name_scroll'>('POST', path('/v1/collections/', collection.name, '/scroll'), {
          body,
          signal: stop.signal,
        }),
        after?.total ??
          call<'post_collections_name_count'>('POST', path('/v1/collections/', collection.name, '/count'), {
            body: filters === undefined ? {} : { filters },
            signal: stop.signal,
          }).then((counted) => counted.count),
      ]);
      if (stop.signal.aborted) return;
      setLoaded({ items: [...(after?.items ?? []), ...answer.vectors], total, cursor: answer.next_cursor });
      setKnown((before) => [
        ...new Set([...before, ...answer.vectors.flatMap(({ metadata }) => fieldPaths(metadata))]),
      ]);
      setFailure(null);
    } catch (error) {
      if (stop.signal.aborted || isAbort(error)) return;
      setFailure(error);
    }
    setBusy(false);
  };

  useEffect(() => {
    replaceQuery({ where: parameterOf(conditions) });
    setChosen([]);
    void load(conditions, null);
    return () => running.current?.abort();
  }, [conditions]);

  const remove = async (): Promise<void> => {
    try {
      await deleteWithUndo(collection.name, chosen, () => void load(conditions, null));
      setChosen([]);
    } catch (error) {
      tell(messageOf(error), { isBad: true });
    }
  };

  const items = loaded?.items ?? [];
  const fields = fieldsOf(items);
  const columns = columnsOf(fields, hidden);
  return (
    <div class="stack">
      <section class="card card-body row" aria-label="What is shown">
        <FilterBar conditions={conditions} fields={fields} onChange={setConditions} />
        <span class="row browse-end">
          {fields.length > 0 && (
            <ColumnChoice
              fields={fields}
              shown={columns}
              onChange={(shown) => setHidden(fields.filter((field) => !shown.includes(field)))}
            />
          )}
          {mayWrite() && (
            <button type="button" class="danger tight" disabled={chosen.length === 0} onClick={() => void remove()}>
              Delete{chosen.length === 0 ? '' : ` ${plural(chosen.length, 'item')}`}
            </button>
          )}
        </span>
      </section>
      <Failure error={failure} />
      {loaded === null && isBusy && <Busy>Reading items…</Busy>}
      <div class={known.length === 0 ? 'stack' : 'columns facetted'}>
        <FacetPanel collection={collection.name} conditions={conditions} known={known} onChange={setConditions} />
        <div class="stack">
          {loaded !== null && items.length === 0 && (
            <p class="card empty">
              {conditions.length > 0 ? 'No item matches these filters.' : 'This collection is empty.'}
            </p>
          )}
          {items.length > 0 && (
            <section class="card" aria-label="Items">
              <ItemTable
                items={sorted(items, sort)}
                columns={columns}
                sort={sort}
                chosen={mayWrite() ? chosen : null}
                onSort={setSort}
                onChoose={(ids) => setChosen(ids.slice(0, UNDO_MAX))}
                onItem={onItem}
                onFilter={(condition) => setConditions(withCondition(conditions, condition))}
              />
              <div class="card-body row">
                <span class="quiet small number" role="status">
                  {count(items.length)} loaded
                  {loaded === null ? '' : ` of ${count(loaded.total)}`}
                  {sort === null ? ', in the order they came' : ', sorted among themselves'}
                </span>
                {loaded !== null && loaded.cursor !== null && (
                  <button type="button" onClick={() => void load(conditions, loaded)} disabled={isBusy}>
                    {isBusy ? 'Reading…' : `${PAGE} more`}
                  </button>
                )}
              </div>
            </section>
          )}
        </div>
      </div>
    </div>
  );
}

function ColumnChoice({
  fields,
  shown,
  onChange,
}: {
  fields: string[];
  shown: string[];
  onChange: (shown: string[]) => void;
}) {
  return (
    <details class="menu">
      <summary class="button tight">Columns</summary>
      <div class="menu-body card">
        {fields.map((field) => (
          <label key={field} class="check">
            <input
              type="checkbox"
              checked={shown.includes(field)}
              onChange={(event) =>
                onChange(
                  event.currentTarget.checked
                    ? fields.filter((one) => one === field || shown.includes(one))
                    : shown.filter((one) => one !== field),
                )
              }
            />
            <span class="break">{field}</span>
          </label>
        ))}
      </div>
    </details>
  );
}
