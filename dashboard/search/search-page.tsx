import { useEffect, useRef, useState } from 'preact/hooks';
import { isAbort } from '../api/client';
import type { Collection } from '../api/shapes';
import { type Condition, conditionsFromParameter, parameterOf, withCondition } from '../filters/filter-model';
import { FacetPanel } from '../filters/facet-panel';
import { FilterBar } from '../filters/filter-bar';
import { Busy, Failure } from '../parts/notice';
import { replaceQuery, route } from '../state/route';
import { ComparedAnswers } from './compared-answers';
import { ExpectedItem } from './expected-item';
import { FieldChoice } from './field-choice';
import { fieldPaths, fieldsFromParameter } from './field-paths';
import { GroupChoice } from './group-choice';
import { HitList } from './hit-list';
import { ModelNotice } from './model-notice';
import { RerankChoice } from './rerank-choice';
import { SearchForm } from './search-form';
import { hasText, MODES, type Mode, runSearch, type SearchOutcome, type SearchPlan } from './search-request';

const K_DEFAULT = 10;
const ALPHA_DEFAULT = 0.5;
/** What the demo is called, and what can be found in it. */
const DEMO = 'demo';
const DEMO_QUERIES = [
  'a planet with rings',
  'animals that sleep in winter',
  'a metal that is liquid',
  'how to print a book',
];

function planFromAddress(query: URLSearchParams): SearchPlan {
  const mode = query.get('mode') ?? 'text';
  return {
    mode: Object.hasOwn(MODES, mode) ? (mode as Mode) : 'text',
    query: query.get('q') ?? '',
    k: Number(query.get('k')) || K_DEFAULT,
    alpha: query.has('alpha') ? Number(query.get('alpha')) : ALPHA_DEFAULT,
    conditions: conditionsFromParameter(query.get('where')),
    fields: fieldsFromParameter(query.get('fields')),
    groupBy: query.get('group') || null,
    rerank: query.get('rerank') || null,
    besideExact: query.get('exact') === '1',
    expected: query.get('expect') ?? '',
  };
}

function addressOf({
  mode,
  query,
  k,
  alpha,
  conditions,
  fields,
  groupBy,
  rerank,
  besideExact,
  expected,
}: SearchPlan): Record<string, string | null> {
  return {
    mode: mode === 'text' ? null : mode,
    q: query,
    k: k === K_DEFAULT ? null : String(k),
    alpha: mode === 'hybrid' ? String(alpha) : null,
    where: parameterOf(conditions),
    fields: fields === null ? null : JSON.stringify(fields),
    group: groupBy,
    rerank,
    exact: besideExact ? '1' : null,
    expect: expected,
  };
}

export function SearchPage({ collection, onItem }: { collection: Collection; onItem: (id: string) => void }) {
  const [plan, setPlan] = useState(() => planFromAddress(route.value.query));
  const [outcome, setOutcome] = useState<SearchOutcome | null>(null);
  const [known, setKnown] = useState<string[]>([]);
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController | null>(null);

  const search = async (next: SearchPlan): Promise<void> => {
    setPlan(next);
    replaceQuery(addressOf(next));
    running.current?.abort();
    if (next.query.trim() === '') return;
    const stop = new AbortController();
    running.current = stop;
    setBusy(true);
    try {
      const answer = await runSearch(collection.name, next, stop.signal);
      if (stop.signal.aborted) return;
      setOutcome(answer);
      // Hits of which few fields were asked for tell of these alone.
      setKnown((before) => [
        ...new Set([...before, ...answer.calibrated.hits.flatMap(({ metadata }) => fieldPaths(metadata))]),
      ]);
      setFailure(null);
    } catch (error) {
      if (stop.signal.aborted || isAbort(error)) return;
      setFailure(error);
    }
    setBusy(false);
  };

  // A link to a search runs it.
  useEffect(() => {
    if (plan.query !== '') void search(plan);
    return () => running.current?.abort();
  }, []);

  const expect = (expected: string): void => {
    const next = { ...plan, expected };
    setPlan(next);
    replaceQuery(addressOf(next));
  };
  const narrow = (condition: Condition): void =>
    void search({ ...plan, conditions: withCondition(plan.conditions, condition) });
  const labLink =
    outcome !== null && hasText(outcome.plan)
      ? `#/collections/${encodeURIComponent(collection.name)}/lab?q=${encodeURIComponent(outcome.plan.query)}`
      : null;
  return (
    <div class="stack">
      <ModelNotice collection={collection} />
      <section class="card card-body stack" aria-label="Search">
        <SearchForm plan={plan} isBusy={isBusy} onChange={setPlan} onSearch={(next) => void search(next)} />
        <FilterBar
          conditions={plan.conditions}
          fields={known}
          onChange={(conditions) => void search({ ...plan, conditions })}
        />
        <div class="row">
          <FieldChoice known={known} chosen={plan.fields} onChange={(fields) => void search({ ...plan, fields })} />
          <GroupChoice known={known} chosen={plan.groupBy} onChange={(groupBy) => void search({ ...plan, groupBy })} />
          {hasText(plan) && (
            <RerankChoice chosen={plan.rerank} onChange={(rerank) => void search({ ...plan, rerank })} />
          )}
        </div>
      </section>
      <Failure error={failure} />
      {isBusy && outcome === null && <Busy>Searching…</Busy>}
      {outcome === null && !isBusy && failure === null && (
        <div class="empty card">
          <p>
            {collection.vector_count === 0
              ? 'This collection is empty: upload a document, or store vectors by the API.'
              : 'Search by meaning, by keywords and meaning together, by an item, or by a vector.'}
          </p>
          {collection.name === DEMO && (
            <div class="chips" role="group" aria-label="Try one of these">
              {DEMO_QUERIES.map((query) => (
                <button
                  key={query}
                  type="button"
                  class="chip"
                  onClick={() => void search({ ...plan, mode: 'hybrid', query })}
                >
                  {query}
                </button>
              ))}
            </div>
          )}
        </div>
      )}
      {outcome !== null && failure === null && (
        <ExpectedItem
          collection={collection.name}
          outcome={outcome}
          expected={plan.expected}
          onExpected={expect}
          onHits={(k) => void search({ ...plan, k })}
          onItem={onItem}
        />
      )}
      {outcome !== null && failure === null && outcome.exact === null && (
        <div class={known.length === 0 ? 'stack' : 'columns facetted'}>
          <FacetPanel
            collection={collection.name}
            conditions={plan.conditions}
            known={known}
            onChange={(conditions) => void search({ ...plan, conditions })}
          />
          <HitList
            outcome={outcome}
            expected={plan.expected}
            labLink={labLink}
            onItem={onItem}
            onFilter={narrow}
            onAlike={(id) => void search({ ...plan, mode: 'item', query: id })}
          />
        </div>
      )}
      {outcome !== null && failure === null && outcome.exact !== null && (
        <ComparedAnswers outcome={outcome} onItem={onItem} />
      )}
    </div>
  );
}
