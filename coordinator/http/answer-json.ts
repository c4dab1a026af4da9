import type { FusedPlaces, ScoredHit, SearchTiming, VectorView, WriteTiming } from '../service';
import type { VectorFormat } from './body/vector-format';

/**
 * Answers as JSON text, built by hand where answers are large or frequent: metadata is JSON text already and goes in as
 * it is.
 */

/** A score as a JSON number. What lies beyond a double (a dot product of huge vectors) is held at its end; no order is 0. */
export function scoreJson(score: number): string {
  if (Number.isFinite(score)) return String(score);
  return Number.isNaN(score) ? '0' : String(Math.sign(score) * Number.MAX_VALUE);
}

export function hitsJson(hits: readonly ScoredHit[]): string {
  let json = '[';
  for (let i = 0; i < hits.length; i++) {
    const { externalId, score, metadata, explanation } = hits[i];
    const more = explanation === undefined ? '' : explanationMembers(explanation);
    json += `${i === 0 ? '' : ','}{"external_id":${JSON.stringify(externalId)},"score":${scoreJson(score)},"metadata":${metadata}${more}}`;
  }
  return `${json}]`;
}

/** A hit's places in the lists that were fused, with a comma before each. */
function explanationMembers({ vectorRank, vectorScore, keywordRank, keywordScore }: FusedPlaces): string {
  const scoreOrNull = (score: number | null): string => (score === null ? 'null' : scoreJson(score));
  return `,"vector_rank":${vectorRank},"vector_score":${scoreOrNull(vectorScore)},"keyword_rank":${keywordRank},"keyword_score":${scoreOrNull(keywordScore)}`;
}

/** Hits with their text, as the query endpoint gives them. */
export function textHitsJson(hits: readonly ScoredHit[]): string {
  const parts = hits.map(({ externalId, score, metadata, text }) => {
    return `{"text":${JSON.stringify(text ?? '')},"score":${scoreJson(score)},"metadata":${metadata},"external_id":${JSON.stringify(externalId)}}`;
  });
  return `[${parts.join(',')}]`;
}

/** One stored vector; `vector` is in it when the view has it. */
export function vectorJson(view: VectorView, format: VectorFormat): string {
  const vector = view.vector === undefined ? '' : `"vector":${format(view.vector)},`;
  return `{"external_id":${JSON.stringify(view.externalId)},${vector}"metadata":${view.metadata},"text":${JSON.stringify(view.text)}}`;
}

/** One exported vector, which has no text. */
export function exportedVectorJson(view: VectorView, format: VectorFormat): string {
  const vector = view.vector === undefined ? '[]' : format(view.vector);
  return `{"external_id":${JSON.stringify(view.externalId)},"vector":${vector},"metadata":${view.metadata}}`;
}

/** The `timing_ms` member with a comma before it, or nothing when it wasn't asked for. */
export function timingMember(timing: SearchTiming | WriteTiming, isWanted: boolean): string {
  if (!isWanted) return '';
  const middle = 'searchMs' in timing ? `"search_ms":${timing.searchMs}` : `"storage_ms":${timing.storageMs}`;
  return `,"timing_ms":{"embedding_ms":${timing.embeddingMs},${middle},"total_ms":${timing.totalMs}}`;
}
