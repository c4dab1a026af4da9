import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isAbort } from '../api/client';
import { valueText, plural } from '../parts/format';
import { Busy, Failure } from '../parts/notice';
import { HitText } from '../search/hit-list';
import { askPool } from './ask-pool';
import { GradeChoice } from './grade-choice';
import { type Edit, GRADES, isKept, type JudgedQuery } from './judged';
import type { PooledHit } from './pool';
import { nameOf, type Variant } from './variants';

/** Of the metadata of a hit, what helps to grade it. */
const FACTS_MAX = 4;
const FACT_LENGTH_MAX = 40;
const ADDED_GRADE = 2;

interface GradingProps {
  collection: string;
  /** With its grades. */
  judged: JudgedQuery;
  variants: Variant[];
  /** Hits of each variant. */
  k: number;
  isReadOnly: boolean;
  onEdit: (...edits: Edit[]) => void;
  onRemove: () => void;
  /** The query to grade after this one; null: there is none. */
  next: string | null;
  onNext: (query: string) => void;
  /** Whether the first grade is to have the focus: whoever goes on by keys stays at them. */
  takesFocus: boolean;
  onItem: (id: string) => void;
}

/** The hits that the variants have for a query, to be graded. */
export function Grading(props: GradingProps) {
  const { collection, judged, variants, k, isReadOnly, onEdit, onRemove, next, onNext, takesFocus, onItem } = props;
  const { query, grades } = judged;
  const [round, setRound] = useState(0);
  const pool = usePool(collection, query, variants, k, round);
  const ids = new Set(pool.hits?.map(({ hit }) => hit.external_id));
  const others = pool.hits === null ? [] : [...grades.keys()].filter((id) => !ids.has(id));
  const toNext = (): void => {
    if (next !== null) onNext(next);
  };
  const mustFocus = useRef(takesFocus);
  useLayoutEffect(() => {
    if (pool.hits === null || !mustFocus.current) return;
    mustFocus.current = false;
    document.querySelector<HTMLInputElement>('fieldset.grades input:checked')?.focus();
  }, [pool.hits]);
  const grade = (id: string, value: number | null): void => onEdit({ type: 'grade', query, id, grade: value });
  return (
    <section class="card" aria-label="Grading">
      <div class="card-head">
        <h2 class="break">{query}</h2>
        <span class="quiet small">{plural(grades.size, 'grade')}</span>
        {!isKept(judged) && !isReadOnly && <span class="tag warn">not kept yet: give one item a grade above 0</span>}
        <span class="actions">
          {next !== null && (
            <button type="button" class="tight primary" onClick={toNext}>
              Next query
            </button>
          )}
          <button type="button" class="tight" onClick={() => setRound((last) => last + 1)}>
            Ask again
          </button>
          {!isReadOnly && (
            <button type="button" class="tight danger" onClick={onRemove}>
              Remove the query
            </button>
          )}
        </span>
      </div>
      <p class="quiet small grading-help">
        {Object.entries(GRADES)
          .map(([value, said]) => `${value} ${said}`)
          .join(' · ')}
        . What is not judged counts as 0.
        {isReadOnly ? '' : ' Keys grade the hit that has the focus: 0 to 3, - for not judged; n is the next query.'}
      </p>
      {pool.failure !== null && (
        <div class="card-body">
          <Failure error={pool.failure} />
        </div>
      )}
      {pool.hits === null && pool.failure === null && (
        <div class="card-body">
          <Busy>Asking in {plural(variants.length, 'variant')}…</Busy>
        </div>
      )}
      {pool.hits !== null && pool.hits.length === 0 && <p class="empty">No variant finds anything.</p>}
      {pool.hits !== null && pool.hits.length > 0 && (
        <ol class="hits" aria-label="Hits of all variants">
          {pool.hits.map((pooled) => (
            <PooledRow
              key={pooled.hit.external_id}
              pooled={pooled}
              asked={pool.asked}
              grade={grades.get(pooled.hit.external_id) ?? null}
              isReadOnly={isReadOnly}
              onGrade={(value) => grade(pooled.hit.external_id, value)}
              onNext={toNext}
              onItem={onItem}
            />
          ))}
        </ol>
      )}
      {others.length > 0 && (
        <section aria-label="Graded items that no variant finds">
          <h3 class="graded-others">Graded, and not among these hits</h3>
          <ul class="hits">
            {others.map((id) => (
              <li key={id} class="hit">
                <div class="hit-head">
                  <button type="button" class="link break hit-id" onClick={() => onItem(id)}>
                    {id}
                  </button>
                  <GradeChoice
                    id={id}
                    grade={grades.get(id) ?? null}
                    isReadOnly={isReadOnly}
                    onGrade={(value) => grade(id, value)}
                    onNext={toNext}
                  />
                </div>
              </li>
            ))}
          </ul>
        </section>
      )}
      {!isReadOnly && pool.hits !== null && <OtherItem onAdd={(id) => grade(id, ADDED_GRADE)} />}
    </section>
  );
}

interface Pool {
  /** null: they are not there yet. */
  hits: PooledHit[] | null;
  failure: unknown;
  /** The variants that were asked. */
  asked: Variant[];
}

/** Asks when the query changes or `round`; not with each letter of a variant that is typed. */
function usePool(collection: string, query: string, variants: Variant[], k: number, round: number): Pool {
  const [pool, setPool] = useState<Pool>({ hits: null, failure: null, asked: variants });
  useLayoutEffect(() => {
    const stop = new AbortController();
    setPool({ hits: null, failure: null, asked: variants });
    askPool(collection, query, variants, k, stop.signal).then(
      (hits) => {
        if (!stop.signal.aborted) setPool({ hits, failure: null, asked: variants });
      },
      (failure: unknown) => {
        if (!stop.signal.aborted && !isAbort(failure)) setPool({ hits: null, failure, asked: variants });
      },
    );
    return () => stop.abort();
  }, [collection, query, round]);
  return pool;
}

interface PooledRowProps {
  pooled: PooledHit;
  asked: Variant[];
  grade: number | null;
  isReadOnly: boolean;
  onGrade: (grade: number | null) => void;
  onNext: () => void;
  onItem: (id: string) => void;
}

function PooledRow(props: PooledRowProps) {
  const { hit, places } = props.pooled;
  const { asked, grade, isReadOnly, onGrade, onNext, onItem } = props;
  const facts = Object.entries(hit.metadata)
    .filter(([field]) => field !== 'text')
    .slice(0, FACTS_MAX);
  const found = places.filter((place) => place !== null).length;
  return (
    <li class="hit" data-grade={grade ?? 'none'}>
      <div class="hit-head">
        <button type="button" class="link break hit-id" onClick={() => onItem(hit.external_id)}>
          {hit.external_id}
        </button>
        <GradeChoice id={hit.external_id} grade={grade} isReadOnly={isReadOnly} onGrade={onGrade} onNext={onNext} />
      </div>
      <HitText hit={hit} />
      <details class="small">
        <summary>
          found by {found} of {plural(places.length, 'variant')}
          {facts.map(([field, value]) => (
            <span key={field} class="quiet break">
              {' '}
              · {field} {valueText(value).slice(0, FACT_LENGTH_MAX)}
            </span>
          ))}
        </summary>
        <ul>
          {asked.map((variant, i) => (
            <li key={i} class="break">
              {nameOf(variant)}: {places[i] === null ? 'not found' : `place ${places[i]}`}
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}

/** An item that no variant finds is the most telling one. */
function OtherItem({ onAdd }: { onAdd: (id: string) => void }) {
  const [id, setId] = useState('');
  return (
    <form
      class="row card-body"
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim() === '') return;
        onAdd(id.trim());
        setId('');
      }}
    >
      <label class="row grow">
        <span class="quiet small">Another item</span>
        <input
          class="grow"
          value={id}
          placeholder="external_id of a good answer that is not found"
          onInput={(event) => setId(event.currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
        />
      </label>
      <button type="submit">Grade it {GRADES[ADDED_GRADE]}</button>
    </form>
  );
}
