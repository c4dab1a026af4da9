import type { Hit } from '../api/shapes';

/** Of a text, what is shown with a hit. */
export const EXCERPT_MAX = 360;

/** A piece of what is shown. */
export interface Piece {
  text: string;
  /** Whether the search looked for it. */
  isFound: boolean;
}

/** The part of a hit's text that the service found best, or its beginning; none of an empty text. */
export function excerptOf({ text = '', highlights }: Pick<Hit, 'text' | 'highlights'>): Piece[] {
  const best = highlights?.[0];
  const from = best?.start ?? 0;
  const to = best === undefined ? Math.min(text.length, EXCERPT_MAX) : from + best.text.length;
  const pieces: Piece[] = [];
  const add = (piece: string, isFound: boolean): void => {
    if (piece !== '') pieces.push({ text: piece, isFound });
  };
  let at = from;
  if (from > 0) add('… ', false);
  for (const [start, end] of best?.spans ?? []) {
    add(text.slice(at, start), false);
    add(text.slice(start, end), true);
    at = end;
  }
  add(text.slice(at, to), false);
  if (to < text.length) add(' …', false);
  return pieces;
}
