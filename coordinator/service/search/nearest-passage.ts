import { scoreOf, type Metric } from '../../../shared/contract/vector/metric';
import { isBlankUnit, skipBlank, skipBlankBackward } from '../documents/blank';
import { lastCharacterBoundary, lastWordBoundary, sentenceStarts } from '../documents/text-boundaries';

/** Code units at the beginning of a field in which sentences are looked at. */
const LOOKED_AT_UNITS = 8192;

/** A sentence of a text, in UTF-16 code units; `end` is the first behind it. */
export interface SentencePlace {
  start: number;
  end: number;
}

/** Code units of a text that are looked at. */
export function unitsLookedAt(text: string): number {
  return Math.min(text.length, LOOKED_AT_UNITS);
}

/**
 * The first `most` sentences at the beginning of a text, without white space around; the last one that is looked at is
 * left out if it goes on. One of more than `size` units is cut at words.
 */
export function passagesOf(text: string, size: number, most: number): SentencePlace[] {
  const isWhole = text.length <= LOOKED_AT_UNITS;
  const head = isWhole
    ? text
    : text.slice(0, lastCharacterBoundary(text.slice(0, LOOKED_AT_UNITS + 1), LOOKED_AT_UNITS));
  const starts = sentenceStarts(head, 0, 0).filter((start) => start > 0);
  const passages: SentencePlace[] = [];
  let from = skipBlank(head, 0);
  for (const next of isWhole || starts.length === 0 ? [...starts, head.length] : starts) {
    const end = skipBlankBackward(head, next);
    while (from < end) {
      if (passages.length === most) return passages;
      const cut = end - from <= size ? end : from + lengthOfPiece(head.slice(from, from + size + 1), size);
      const piece = skipBlankBackward(head, cut);
      if (piece > from) passages.push({ start: from, end: piece });
      from = skipBlank(head, cut);
    }
    from = Math.max(from, next);
  }
  return passages;
}

/** The place of the vector that is nearest to `to`, by the metric of the collection; −1 of none. */
export function nearestOf(vectors: readonly Float32Array[], to: Float32Array, metric: Metric): number {
  let nearest = -1;
  let best = -Infinity;
  for (const [i, vector] of vectors.entries()) {
    const score = scoreOf(metric, vector, to);
    if (score <= best) continue;
    best = score;
    nearest = i;
  }
  return nearest;
}

/** Of a text that is one unit longer than a piece may be: a piece that ends before white space, else between words. */
function lengthOfPiece(text: string, size: number): number {
  let at = size;
  while (at > 0 && !isBlankUnit(text.charCodeAt(at))) at--;
  return at || lastWordBoundary(text, size) || lastCharacterBoundary(text, size);
}
