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

/** A piece of a long answer is about as long, in characters: it takes well under a millisecond to make, and small answers are one. */
const PIECE_CHARACTERS = 16 * 1024;

/** A JSON array in pieces, made as they are taken: `head`, the elements by `elementJson` in brackets, `tail`. */
export function* listPieces<Element>(head: string, elements: readonly Element[], elementJson: (element: Element, index: number) => string, tail: string): Generator<string> {
  let piece = `${head}[`;
  for (let i = 0; i < elements.length; i++) {
    piece += i === 0 ? elementJson(elements[i], i) : `,${elementJson(elements[i], i)}`;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]${tail}`;
}

/** Lists of hits in an array, in pieces. */
export function* hitListsPieces(head: string, lists: readonly (readonly ScoredHit[])[], tail: string): Generator<string> {
  if (lists.length === 0) yield `${head}[]${tail}`;
  for (let i = 0; i < lists.length; i++) {
    yield* listPieces(i === 0 ? `${head}[` : ',', lists[i], hitJson, i === lists.length - 1 ? `]${tail}` : '');
  }
}

export function hitJson({ externalId, score, metadata, explanation }: ScoredHit): string {
  const more = explanation === undefined ? '' : explanationMembers(explanation);
  return `{"external_id":${JSON.stringify(externalId)},"score":${scoreJson(score)},"metadata":${metadata}${more}}`;
}

/** A hit's places in the lists that were fused, with a comma before each. */
function explanationMembers({ vectorRank, vectorScore, keywordRank, keywordScore }: FusedPlaces): string {
  const scoreOrNull = (score: number | null): string => (score === null ? 'null' : scoreJson(score));
  return `,"vector_rank":${vectorRank},"vector_score":${scoreOrNull(vectorScore)},"keyword_rank":${keywordRank},"keyword_score":${scoreOrNull(keywordScore)}`;
}

/** A hit with its text, as the query endpoint gives it. */
export function textHitJson({ externalId, score, metadata, text }: ScoredHit): string {
  return `{"text":${JSON.stringify(text ?? '')},"score":${scoreJson(score)},"metadata":${metadata},"external_id":${JSON.stringify(externalId)}}`;
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
