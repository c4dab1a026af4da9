import type { Hit } from '../api/shapes';
import type { Condition } from '../filters/filter-model';
import { MetadataChips } from '../filters/metadata-chips';
import { milliseconds, plural, score, valueText } from '../parts/format';
import { excerptOf } from './excerpt';
import type { Answered, SearchOutcome, SearchPlan } from './search-request';

interface HitListProps {
  outcome: SearchOutcome;
  /** The external_id of a hit that somebody looks for; empty: none. */
  expected: string;
  /** To grade hits of this search; null: what it asks is no text. */
  labLink: string | null;
  onItem: (id: string) => void;
  onAlike: (id: string) => void;
  onFilter: (condition: Condition) => void;
}

export function HitList({ outcome, expected, labLink, onItem, onAlike, onFilter }: HitListProps) {
  const { hits, groups, total } = outcome.calibrated;
  const best = Math.max(...hits.map((hit) => hit.score), 0);
  const listed = (shown: Hit[]) => (
    <ol class="hits">
      {shown.map((hit, i) => (
        <HitRow
          key={hit.external_id}
          hit={hit}
          rank={i + 1}
          best={best}
          plan={outcome.plan}
          expected={expected}
          onItem={onItem}
          onAlike={onAlike}
          onFilter={onFilter}
        />
      ))}
    </ol>
  );
  return (
    <section class="card" aria-label="Hits">
      <div class="card-head">
        <h2 aria-live="polite">{groups === null ? plural(hits.length, 'hit') : plural(groups.length, 'group')}</h2>
        <span class="quiet small number">of {plural(total, 'item')}</span>
        <span class="quiet small number">{timingText(outcome.calibrated)}</span>
        {labLink !== null && (
          <a class="actions small" href={labLink}>
            Grade in the search lab
          </a>
        )}
      </div>
      {hits.length === 0 && <p class="empty">Nothing matches.</p>}
      {groups === null
        ? listed(hits)
        : groups.map(({ key, hits: ofGroup }, i) => (
            <section key={i} class="hit-group" aria-label={`Group ${valueText(key)}`}>
              <h3 class="break">{valueText(key)}</h3>
              {listed(ofGroup)}
            </section>
          ))}
    </section>
  );
}

function timingText({ timing, roundTripMs }: Answered): string {
  const times = [
    ...(timing === null ? [] : [`${milliseconds(timing.search_ms)} search`]),
    ...(timing !== null && timing.embedding_ms > 0 ? [`${milliseconds(timing.embedding_ms)} embedding`] : []),
    `${milliseconds(roundTripMs)} with the way here`,
  ];
  return times.join(' · ');
}

function HitRow({
  hit,
  rank,
  best,
  plan,
  expected,
  onItem,
  onAlike,
  onFilter,
}: Omit<HitListProps, 'outcome' | 'labLink'> & { hit: Hit; rank: number; best: number; plan: SearchPlan }) {
  return (
    <li class="hit">
      <div class="hit-head">
        <span class="rank number" aria-label={`Rank ${rank}`}>
          {rank}
        </span>
        <button type="button" class="link break hit-id" onClick={() => onItem(hit.external_id)}>
          {hit.external_id}
        </button>
        {hit.external_id === expected && <span class="tag accent">expected</span>}
        <Score value={hit.score} best={best} />
        {hit.first_rank !== undefined && <span class="quiet small number">was rank {hit.first_rank}</span>}
        <button type="button" class="tight plain" onClick={() => onAlike(hit.external_id)}>
          More like this
        </button>
      </div>
      {plan.mode === 'hybrid' && <Explained hit={hit} />}
      <HitText hit={hit} />
      <MetadataChips metadata={hit.metadata} without={['text']} onFilter={onFilter} />
    </li>
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

export function HitText({ hit }: { hit: Pick<Hit, 'text' | 'highlights'> }) {
  const pieces = excerptOf(hit);
  if (pieces.length === 0) return null;
  return (
    <p class="hit-text break">
      {pieces.map((piece, i) => (piece.isFound ? <mark key={i}>{piece.text}</mark> : piece.text))}
    </p>
  );
}
