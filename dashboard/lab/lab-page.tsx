import { useState } from 'preact/hooks';
import { call, path } from '../api/client';
import type { Collection } from '../api/shapes';
import { Busy, Failure } from '../parts/notice';
import { usePolling } from '../state/polling';
import { replaceQuery, route } from '../state/route';
import { mayWrite } from '../state/session';
import { ModelNotice } from '../search/model-notice';
import { Comparison } from './comparison';
import { Grading } from './grading';
import { isKept, nextToGrade, toldQuery } from './judged';
import { QueryList } from './query-list';
import { SetBar } from './set-bar';
import { useJudged } from './use-judged';
import { VariantList } from './variant-list';
import { type Variant, variantsFromParameter, variantsParameter } from './variants';

const K_DEFAULT = 10;
/** Of a collection that has no judgements yet. */
const FIRST_NAME = 'judged';
/** By meaning alone, and by words as well: what most want to know first. */
const FIRST_VARIANTS: Variant[] = [
  { name: '', options: {} },
  { name: '', options: { alpha: 0.5 } },
];

const VIEWS = { grade: 'Grade', compare: 'Compare' } as const;
type View = keyof typeof VIEWS;

/** What the address holds, so that a link leads to the same. */
interface LabPlan {
  view: View;
  /** Name of the judgements; empty: the first there are. */
  set: string;
  /** The query that is graded; empty: none. */
  query: string;
  variants: Variant[];
  k: number;
  /** Of the comparison that is shown; null: none. */
  job: string | null;
}

function planFromAddress(query: URLSearchParams): LabPlan {
  const view = query.get('view') ?? '';
  return {
    view: Object.hasOwn(VIEWS, view) ? (view as View) : 'grade',
    set: query.get('set') ?? '',
    query: query.get('q') ?? '',
    variants: variantsFromParameter(query.get('variants')) ?? FIRST_VARIANTS,
    k: Number(query.get('k')) || K_DEFAULT,
    job: query.get('job') || null,
  };
}

function addressOf({ view, set, query, variants, k, job }: LabPlan): Record<string, string | null> {
  return {
    view: view === 'grade' ? null : view,
    set,
    q: query,
    variants: variants === FIRST_VARIANTS ? null : variantsParameter(variants),
    k: k === K_DEFAULT ? null : String(k),
    job,
  };
}

/** Queries with the items that answer them, and variants of the search that are measured by them. */
export function LabPage({ collection, onItem }: { collection: Collection; onItem: (id: string) => void }) {
  const [plan, setPlan] = useState(() => planFromAddress(route.value.query));
  /** Of what was replaced as a whole. */
  const [round, setRound] = useState(0);
  /** The query that somebody went on to. */
  const [nextQuery, setNext] = useState<string | null>(null);
  const sets = usePolling(`judgements/${collection.name}`, 0, (signal) =>
    call<'get_collections_name_judgements'>('GET', path('/v1/collections/', collection.name, '/judgements'), {
      signal,
    }),
  );
  const known = sets.data?.judgements ?? null;
  const name = known === null ? '' : plan.set || (known[0]?.name ?? FIRST_NAME);
  const set = useJudged(collection.name, name, round, sets.refresh);
  const isReadOnly = !mayWrite();
  const change = (fields: Partial<LabPlan>): void => {
    const next = { ...plan, ...fields };
    setPlan(next);
    replaceQuery(addressOf(next));
  };

  if (known === null)
    return sets.error === null ? <Busy>Asking for the judgements…</Busy> : <Failure error={sets.error} />;
  const judged = set.judged ?? [];
  // A link from a search brings a query that nobody has graded yet.
  const isNew = plan.query.trim() !== '' && !isReadOnly;
  const chosen =
    judged.find(({ query }) => query === plan.query) ??
    (isNew ? { query: plan.query, grades: new Map<string, number>() } : undefined);
  return (
    <div class="stack">
      <ModelNotice collection={collection} />
      {isReadOnly && (
        <p class="notice" role="status">
          Your key only reads: you see what was graded and compared. Grading and comparing need a key that writes.
        </p>
      )}
      <SetBar
        collection={collection.name}
        sets={known}
        name={name}
        judged={set.judged}
        variants={plan.variants}
        k={plan.k}
        isUnkept={set.isUnkept && set.failure === null}
        isReadOnly={isReadOnly}
        onName={(next) => change({ set: next, query: '', job: null })}
        onChanged={(next, file) => {
          change({
            set: next,
            query: '',
            job: null,
            ...(file?.variants && { variants: file.variants }),
            ...(file?.k && { k: file.k }),
          });
          setRound((last) => last + 1);
          sets.refresh();
        }}
      />
      {set.failure !== null && (
        <div class="row">
          <Failure error={set.failure} />
          <button type="button" onClick={set.again}>
            Try again
          </button>
        </div>
      )}
      <div class="segments lab-views" role="radiogroup" aria-label="View">
        {Object.entries(VIEWS).map(([view, label]) => (
          <button
            key={view}
            type="button"
            role="radio"
            aria-checked={plan.view === view}
            onClick={() => change({ view: view as View })}
          >
            {label}
          </button>
        ))}
      </div>
      {set.judged === null && set.failure === null && <Busy>Asking for the judged queries…</Busy>}
      {set.judged !== null && plan.view === 'grade' && (
        <div class="columns graded">
          <QueryList
            judged={judged}
            chosen={plan.query}
            isReadOnly={isReadOnly}
            onChoose={(query) => change({ query })}
            onAdd={(queries) => {
              set.edit(...queries.map((query) => ({ type: 'add', query }) as const));
              change({ query: queries[0] ?? '' });
            }}
          />
          {chosen === undefined ? (
            <NothingChosen hasQueries={judged.length > 0} isReadOnly={isReadOnly} />
          ) : (
            <Grading
              key={`${name}/${chosen.query}`}
              collection={collection.name}
              judged={chosen}
              variants={plan.variants}
              k={plan.k}
              isReadOnly={isReadOnly}
              onEdit={set.edit}
              next={nextToGrade(judged, chosen.query)}
              onNext={(query) => {
                setNext(query);
                change({ query });
              }}
              takesFocus={nextQuery === chosen.query}
              onRemove={() => {
                set.edit({ type: 'remove', query: chosen.query });
                change({ query: '' });
                // The button is gone.
                document.getElementById('main')?.focus();
              }}
              onItem={onItem}
            />
          )}
        </div>
      )}
      {plan.view === 'compare' && (
        <>
          <VariantList
            key={round}
            variants={plan.variants}
            k={plan.k}
            onVariants={(variants) => change({ variants })}
            onK={(k) => change({ k })}
          />
          <Comparison
            collection={collection.name}
            name={name}
            variants={plan.variants}
            k={plan.k}
            obstacle={obstacleOf(judged.filter(isKept).length, set.isUnkept, isReadOnly)}
            job={plan.job}
            onJob={(job) => change({ job })}
            gradedAt={known.find((one) => one.name === name)?.updated_at ?? null}
            onQuery={(told) => change({ query: toldQuery(told, judged), view: 'grade' })}
          />
        </>
      )}
    </div>
  );
}

function NothingChosen({ hasQueries, isReadOnly }: { hasQueries: boolean; isReadOnly: boolean }) {
  const said = hasQueries
    ? 'Choose a query to see its hits and their grades.'
    : isReadOnly
      ? 'Nobody has judged a query here yet.'
      : 'Type some queries that people ask, and grade their hits. Some dozen queries tell variants apart.';
  return <p class="card empty">{said}</p>;
}

/** Why no comparison can begin; null: one can. */
function obstacleOf(kept: number, isUnkept: boolean, isReadOnly: boolean): string | null {
  if (isReadOnly) return null;
  if (isUnkept) return 'The grades are being kept…';
  return kept === 0 ? 'First grade the hits of a query.' : null;
}
