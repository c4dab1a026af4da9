import { useEffect, useState } from 'preact/hooks';
import { isAbort } from '../api/client';
import type { WhyReport } from '../api/shapes';
import { count, score } from '../parts/format';
import { Busy, Failure } from '../parts/notice';
import { hasText, runWhy, type SearchOutcome, type SearchPlan } from './search-request';
import { K_CHOICES } from './search-form';
import { exactPlaceText, hitsToReach, listName, whyConditionText, whyWords } from './why-text';

interface ExpectedItemProps {
  collection: string;
  /** What was answered last: the question is about its search. */
  outcome: SearchOutcome;
  /** The external_id that is asked about; empty: none. */
  expected: string;
  onExpected: (id: string) => void;
  onHits: (k: number) => void;
  onItem: (id: string) => void;
}

/** A box for an item that should have been found, and where the search lost it. */
export function ExpectedItem({ collection, outcome, expected, onExpected, onHits, onItem }: ExpectedItemProps) {
  const [typed, setTyped] = useState(expected);
  const asked = outcome.plan;
  const isItself = asked.mode === 'item' && asked.query.trim() === expected;
  const why = useWhy(collection, outcome, isItself ? '' : expected);
  return (
    <section class="card card-body stack" aria-label="Expected item">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          onExpected(typed.trim());
        }}
      >
        <label class="row grow">
          <span class="quiet small">Expected item</span>
          <input
            class="grow"
            value={typed}
            placeholder="external_id of a hit that you miss"
            onInput={(event) => setTyped(event.currentTarget.value)}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
        <button type="submit">Where is it?</button>
        {expected !== '' && (
          <button
            type="button"
            class="plain"
            onClick={() => {
              setTyped('');
              onExpected('');
            }}
          >
            Clear
          </button>
        )}
      </form>
      {isItself && <p class="notice">It is the item that the search begins with, which is never a hit.</p>}
      {why.isBusy && <Busy>Looking for it in each list…</Busy>}
      <Failure error={why.failure} />
      {why.report !== null && <Report report={why.report} plan={asked} onHits={onHits} onItem={onItem} />}
    </section>
  );
}

interface Why {
  report: WhyReport | null;
  failure: unknown;
  isBusy: boolean;
}

const NOTHING: Why = { report: null, failure: null, isBusy: false };

/** Asks once for each answer and each item. */
function useWhy(collection: string, outcome: SearchOutcome, expected: string): Why {
  const [why, setWhy] = useState<Why>(NOTHING);
  useEffect(() => {
    setWhy({ ...NOTHING, isBusy: expected !== '' });
    if (expected === '') return undefined;
    const stop = new AbortController();
    runWhy(collection, { ...outcome.plan, expected }, stop.signal).then(
      (report) => {
        if (!stop.signal.aborted) setWhy({ ...NOTHING, report });
      },
      (failure: unknown) => {
        if (!stop.signal.aborted && !isAbort(failure)) setWhy({ ...NOTHING, failure });
      },
    );
    return () => stop.abort();
  }, [collection, outcome, expected]);
  return why;
}

interface ReportProps {
  report: WhyReport;
  plan: SearchPlan;
  onHits: (k: number) => void;
  onItem: (id: string) => void;
}

function Report({ report, plan, onHits, onItem }: ReportProps) {
  const { isFound, said, advice } = whyWords(report, plan);
  const more =
    report.lost_at === 'rank' && plan.rerank === null && plan.groupBy === null
      ? hitsToReach(report.place, K_CHOICES)
      : null;
  return (
    <div class="stack">
      <div class={`notice ${isFound ? 'good' : 'warn'}`} role="status">
        <strong class="break">{said}</strong>
        {advice !== null && <span>{advice}</span>}
      </div>
      {report.conditions.length > 0 && (
        <ul class="stack tight-stack" aria-label="Conditions">
          {report.conditions.map(({ condition, passes }, i) => (
            <li key={i} class="row">
              <span class={`tag ${passes ? 'good' : 'bad'}`}>{passes ? 'passes' : 'fails'}</span>
              <span class="break">{whyConditionText(condition, plan.conditions)}</span>
            </li>
          ))}
        </ul>
      )}
      {report.legs.length > 0 && <Legs report={report} isText={hasText(plan)} />}
      {report.lost_at !== 'item' && (
        <div class="row">
          <button type="button" class="tight" onClick={() => onItem(report.external_id)}>
            Show the item
          </button>
          {more !== null && (
            <button type="button" class="tight" onClick={() => onHits(more)}>
              Ask for {more} hits
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Legs({ report: { legs, lost_at: lostAt }, isText }: { report: WhyReport; isText: boolean }) {
  return (
    <div class="table-box">
      <table class="stacking">
        <caption class="visually-hidden">Its place in each list of the search</caption>
        <thead>
          <tr>
            <th scope="col">List</th>
            <th scope="col">Exact place</th>
            <th scope="col">Score</th>
            <th scope="col">Place in this search</th>
          </tr>
        </thead>
        <tbody>
          {legs.map((one) => (
            <tr key={one.leg}>
              <th scope="row">{listName(one.leg, isText)}</th>
              <td data-label="exact place">{exactPlaceText(one, lostAt)}</td>
              <td data-label="score">{one.score === null ? '–' : score(one.score)}</td>
              <td data-label="in this search">
                {one.rank === null ? `not among its ${count(one.depth)}` : count(one.rank)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
