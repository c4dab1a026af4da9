import type { Hit } from '../api/shapes';
import type { Condition } from '../filters/filter-model';
import { MetadataChips } from '../filters/metadata-chips';
import { milliseconds, plural, score } from '../parts/format';
import { excerpt, highlight } from './highlight';
import type { SearchOutcome } from './search-request';

/** Of a text, what is shown with a hit. */
const EXCERPT_MAX = 360;

interface HitListProps {
  outcome: SearchOutcome;
  onItem: (id: string) => void;
  onAlike: (id: string) => void;
  onFilter: (condition: Condition) => void;
}

export function HitList({ outcome, onItem, onAlike, onFilter }: HitListProps) {
  const { plan, calibrated } = outcome;
  const { hits, timing, roundTripMs } = calibrated;
  const best = Math.max(...hits.map((hit) => hit.score), 0);
  return (
    <section class="card" aria-label="Hits">
      <div class="card-head">
        <h2 aria-live="polite">{plural(hits.length, 'hit')}</h2>
        <span class="quiet small number">
          {timing === null
            ? `${milliseconds(roundTripMs)} with the way here`
            : `${milliseconds(timing.search_ms)} search${timing.embedding_ms > 0 ? ` · ${milliseconds(timing.embedding_ms)} embedding` : ''} · ${milliseconds(roundTripMs)} with the way here`}
        </span>
      </div>
      {hits.length === 0 && <p class="empty">Nothing matches.</p>}
      <ol class="hits">
        {hits.map((hit, i) => (
          <li key={hit.external_id} class="hit">
            <div class="hit-head">
              <span class="rank number" aria-label={`Rank ${i + 1}`}>
                {i + 1}
              </span>
              <button type="button" class="link break hit-id" onClick={() => onItem(hit.external_id)}>
                {hit.external_id}
              </button>
              <Score value={hit.score} best={best} />
              <button type="button" class="tight plain" onClick={() => onAlike(hit.external_id)}>
                More like this
              </button>
            </div>
            {plan.mode === 'hybrid' && <Explained hit={hit} />}
            <HitText text={hit.text ?? ''} query={plan.mode === 'text' || plan.mode === 'hybrid' ? plan.query : ''} />
            <MetadataChips metadata={hit.metadata} without={['text']} onFilter={onFilter} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Score({ value, best }: { value: number; best: number }) {
  const share = best > 0 ? Math.max(0, value / best) : 0;
  return (
    <span class="score number" title={String(value)}>
      <span class="meter" aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </span>
      {score(value)}
    </span>
  );
}

/** Where a hybrid hit stands in the two lists that were fused. */
function Explained({ hit }: { hit: Hit }) {
  return (
    <dl class="explained">
      <div>
        <dt>Meaning</dt>
        <dd class="number">{place(hit.vector_rank, hit.vector_score)}</dd>
      </div>
      <div>
        <dt>Keywords</dt>
        <dd class="number">{place(hit.keyword_rank, hit.keyword_score)}</dd>
      </div>
    </dl>
  );
}

function place(rank: number | null | undefined, value: number | null | undefined): string {
  if (rank === null || rank === undefined) return 'not in this list';
  return `rank ${rank}${value === null || value === undefined ? '' : ` · score ${score(value)}`}`;
}

export function HitText({ text, query }: { text: string; query: string }) {
  if (text === '') return null;
  return (
    <p class="hit-text break">
      {highlight(excerpt(text, query, EXCERPT_MAX), query).map((piece, i) =>
        piece.isHit ? <mark key={i}>{piece.text}</mark> : piece.text,
      )}
    </p>
  );
}
