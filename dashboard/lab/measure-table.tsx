import { count, plural } from '../parts/format';
import { CopyButton } from '../parts/copy-button';
import {
  barOf,
  commandOf,
  difference,
  type Estimate,
  type EvaluatedVariant,
  type Evaluation,
  MEASURES,
  type Measure,
  share,
  verdict,
} from './evaluation';

const NAMES = Object.keys(MEASURES) as Measure[];

interface MeasureTableProps {
  collection: string;
  evaluation: Evaluation;
  onQuery: (query: string) => void;
}

/** Variants beside each other: bars with their intervals, differences to the first, and the queries that lost most. */
export function MeasureTable({ collection, evaluation, onQuery }: MeasureTableProps) {
  const { k, queries, missing_items: missing, variants } = evaluation;
  return (
    <div class="stack">
      <p class="quiet small">
        Means of {plural(queries, 'query', 'queries')}. The line over a bar is where the mean lies in 95 % of draws of
        as many queries; a difference is better or worse by more than chance where its whole interval is above or below
        0.
      </p>
      {missing > 0 && (
        <p class="notice warn">
          {plural(missing, 'judged item')} with a grade above 0 {missing === 1 ? 'is' : 'are'} not in the collection.
        </p>
      )}
      <div class="table-box" tabIndex={0}>
        <table class="stacking measures">
          <caption class="visually-hidden">Measures of each variant</caption>
          <thead>
            <tr>
              <th scope="col">Variant</th>
              {NAMES.map((measure) => (
                <th key={measure} scope="col">
                  {MEASURES[measure]}@{k}
                </th>
              ))}
              <th scope="col">nDCG against the first</th>
            </tr>
          </thead>
          <tbody>
            {variants.map((variant, i) => (
              <Row key={i} variant={variant} k={k} />
            ))}
          </tbody>
        </table>
      </div>
      <div class="lost">
        {variants.map(({ name, against_first: against }, i) =>
          against === undefined || against.lost_most.length === 0 ? null : (
            <section key={i} class="stack tight-stack" aria-label={`Lost most with ${name}`}>
              <h3 class="break">Lost most with “{name}”</h3>
              <ul class="stack tight-stack">
                {against.lost_most.map(({ query, first_ndcg: first, ndcg }) => (
                  <li key={query} class="row nowrap">
                    <span class="number small quiet nowrap">
                      {share(first)} → {share(ndcg)}
                    </span>
                    <button type="button" class="link break" onClick={() => onQuery(query)}>
                      {query}
                    </button>
                  </li>
                ))}
              </ul>
            </section>
          ),
        )}
      </div>
      <details>
        <summary>For continuous integration</summary>
        <p class="small">
          With the downloaded file, this fails where the first variant has less nDCG than now, rounded down:
        </p>
        <div class="row">
          <code class="break">{commandOf(collection, evaluation)}</code>
          <CopyButton text={commandOf(collection, evaluation)} label="Copy the command" isTight />
        </div>
      </details>
    </div>
  );
}

function Row({ variant, k }: { variant: EvaluatedVariant; k: number }) {
  const { name, against_first: against, queries_without_hits: empty } = variant;
  return (
    <tr>
      <th scope="row" class="break">
        {name}
        {empty > 0 && <span class="small quiet">{plural(empty, 'query', 'queries')} without a hit</span>}
      </th>
      {NAMES.map((measure) => (
        <td key={measure} data-label={`${MEASURES[measure]}@${k}`}>
          <Bar estimate={variant[measure]} />
          {against !== undefined && measure !== 'ndcg' && <Change estimate={against[measure]} />}
        </td>
      ))}
      <td data-label="against the first">
        {against === undefined ? (
          <span class="quiet">the first</span>
        ) : (
          <span class="against">
            <span class={`tag ${verdict(against.ndcg).tag}`}>{verdict(against.ndcg).said}</span>
            <Change estimate={against.ndcg} />
            <span class="small quiet">
              {count(against.better)} better, {count(against.worse)} worse
            </span>
          </span>
        )}
      </td>
    </tr>
  );
}

function Bar({ estimate }: { estimate: Estimate }) {
  const { width, from, span } = barOf(estimate);
  return (
    <span class="measure">
      <strong class="number">{share(estimate.mean)}</strong>
      <span class="measure-bar" aria-hidden="true">
        <span style={{ width: `${width}%` }} />
        <span class="interval" style={{ left: `${from}%`, width: `${span}%` }} />
      </span>
      <span class="number small quiet">
        {share(estimate.low)} to {share(estimate.high)}
      </span>
    </span>
  );
}

function Change({ estimate: { mean, low, high } }: { estimate: Estimate }) {
  return (
    <span class="number small quiet">
      {difference(mean)} ({difference(low)} to {difference(high)})
    </span>
  );
}
