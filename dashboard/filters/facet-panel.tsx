import { useEffect, useState } from 'preact/hooks';
import { call, isAbort, messageOf, path } from '../api/client';
import type { Facet } from '../api/shapes';
import { count, plural, valueText } from '../parts/format';
import { type Condition, filtersOf, isChosen, toggled } from './filter-model';

/** Values of a field that are shown first, and after a click. */
const VALUES = 8;
const VALUES_MAX = 100;
/** Fields that are open at first where they stand beside the items. */
const OPEN = 3;
const IS_BESIDE = '(min-width: 960px)';
/** The text has a place of its own. */
const NOT_FACETS = ['text'];
/** An aggregate has no more facets. */
const FACETS_MAX = 20;
const SHOWN_MAX = 60;

interface FacetPanelProps {
  collection: string;
  conditions: Condition[];
  /** Paths of metadata that were seen. */
  known: string[];
  onChange: (conditions: Condition[]) => void;
}

/**
 * The values of fields with how many items have each, exactly. What is chosen of a field does not narrow its own
 * counts, so that one more can be chosen.
 */
export function FacetPanel({ collection, conditions, known, onChange }: FacetPanelProps) {
  const [toggledFields, setToggledFields] = useState<string[]>([]);
  const [long, setLong] = useState<string[]>([]);
  const [facets, setFacets] = useState<Facet[]>([]);
  const [failure, setFailure] = useState<string | null>(null);
  const [open] = useState(() => (matchMedia(IS_BESIDE).matches ? OPEN : 0));
  const fields = known.filter((field) => !NOT_FACETS.includes(field));
  const isOpen = (field: string): boolean => fields.indexOf(field) < open !== toggledFields.includes(field);
  const asked = fields.filter(isOpen).slice(0, FACETS_MAX);
  const filters = filtersOf(conditions);
  const key = JSON.stringify([collection, asked, long, filters]);

  useEffect(() => {
    if (asked.length === 0) return;
    const stop = new AbortController();
    const body = {
      ...(filters === undefined ? {} : { filters }),
      facets: asked.map((field) => ({
        field,
        limit: long.includes(field) ? VALUES_MAX : VALUES,
        own_filter: false,
      })),
    };
    call<'post_collections_name_aggregate'>('POST', path('/v1/collections/', collection, '/aggregate'), {
      body,
      signal: stop.signal,
    })
      .then((answer) => {
        setFacets(answer.facets ?? []);
        setFailure(null);
      })
      .catch((error: unknown) => {
        if (!stop.signal.aborted && !isAbort(error)) setFailure(messageOf(error));
      });
    return () => stop.abort();
  }, [key]);

  if (fields.length === 0) return null;
  return (
    <section class="card facets" aria-label="Facets">
      {failure !== null && (
        <p class="quiet small card-body" role="status">
          {failure}
        </p>
      )}
      {fields.map((field) => (
        <details key={field} open={isOpen(field)}>
          <summary
            class="break"
            onClick={(event) => {
              event.preventDefault();
              setToggledFields((now) => (now.includes(field) ? now.filter((one) => one !== field) : [...now, field]));
            }}
          >
            {field}
          </summary>
          {isOpen(field) && (
            <Values
              facet={facets.find((one) => one.field === field)}
              conditions={conditions}
              onChange={onChange}
              onMore={long.includes(field) ? null : () => setLong((now) => [...now, field])}
            />
          )}
        </details>
      ))}
    </section>
  );
}

function Values({
  facet,
  conditions,
  onChange,
  onMore,
}: {
  facet: Facet | undefined;
  conditions: Condition[];
  onChange: (conditions: Condition[]) => void;
  onMore: (() => void) | null;
}) {
  if (facet === undefined) return null;
  const { field, values, more, missing } = facet;
  return (
    <>
      <ul>
        {values.map(({ value, count: items }) => (
          <li key={JSON.stringify(value)}>
            <button
              type="button"
              class="facet"
              aria-pressed={isChosen(conditions, field, value)}
              onClick={() => onChange(toggled(conditions, field, value))}
            >
              <span class="value break">{valueText(value).slice(0, SHOWN_MAX)}</span>
              <span class="number quiet">{count(items)}</span>
            </button>
          </li>
        ))}
      </ul>
      {more && onMore !== null && (
        <button type="button" class="plain tight" onClick={onMore} aria-label={`More values of ${field}`}>
          More
        </button>
      )}
      {(values.length === 0 || missing > 0 || (more && onMore === null)) && (
        <p class="quiet small">
          {[
            ...(values.length === 0 ? ['no values'] : []),
            ...(more && onMore === null ? ['there are more'] : []),
            ...(missing > 0 ? [`${plural(missing, 'item')} without it`] : []),
          ].join(', ')}
        </p>
      )}
    </>
  );
}
