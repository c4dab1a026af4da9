import { milliseconds, percent, score } from '../parts/format';
import type { Answered, SearchOutcome } from './search-request';
import { HitText } from './hit-list';

/** The calibrated answer and the exact one in two columns, with what they have in common. */
export function ComparedAnswers({ outcome, onItem }: { outcome: SearchOutcome; onItem: (id: string) => void }) {
  const { calibrated, exact, recall } = outcome;
  if (exact === null || recall === null) return null;
  const ids = ({ hits }: Answered): Set<string> => new Set(hits.map(({ external_id: id }) => id));
  return (
    <section class="stack" aria-label="Hits">
      <p class="notice" role="status">
        <strong class="number">Recall {percent(recall)}</strong>
        <span class="quiet">so much of the exact answer the calibrated one found</span>
      </p>
      <div class="columns two">
        <Column title="Calibrated" answer={calibrated} others={ids(exact)} missing="not exact" onItem={onItem} />
        <Column title="Exact" answer={exact} others={ids(calibrated)} missing="missed" onItem={onItem} />
      </div>
    </section>
  );
}

interface ColumnProps {
  title: string;
  answer: Answered;
  others: Set<string>;
  /** Said of a hit that is not among the others. */
  missing: string;
  onItem: (id: string) => void;
}

function Column({ title, answer, others, missing, onItem }: ColumnProps) {
  return (
    <div class="card">
      <div class="card-head">
        <h2>{title}</h2>
        <span class="quiet small number">
          {answer.timing === null ? '' : `${milliseconds(answer.timing.search_ms)} search`}
        </span>
      </div>
      <ol class="hits">
        {answer.hits.map((hit, i) => (
          <li key={hit.external_id} class="hit">
            <div class="hit-head">
              <span class="rank number">{i + 1}</span>
              <button type="button" class="link break hit-id" onClick={() => onItem(hit.external_id)}>
                {hit.external_id}
              </button>
              {!others.has(hit.external_id) && <span class="tag warn">{missing}</span>}
              <span class="score number">{score(hit.score)}</span>
            </div>
            <HitText hit={hit} />
          </li>
        ))}
      </ol>
    </div>
  );
}
