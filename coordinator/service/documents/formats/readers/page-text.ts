/** A piece of a page as pdf.js gives it: `transform` and `height` in points. */
export interface PagePiece {
  str: string;
  hasEOL: boolean;
  height: number;
  transform: number[];
}

/** A gap of more lines than this parts paragraphs. */
const PARAGRAPH_GAP = 1.6;
/** A word that is divided at the end of a line. */
const HYPHENATED = /(\p{L})[-\u00ad\u2010]\n(?=\p{Ll})/gu;

/**
 * The text of a page: lines in the order in which the file has them, paragraphs where lines are farther apart, words
 * that a line's end divides in one piece.
 */
export function pageText(pieces: readonly PagePiece[]): string {
  const parts: string[] = [];
  let last = { y: 0, height: 0 };
  let isLineBegin = true;
  for (const { str, hasEOL, height, transform } of pieces) {
    const [, , , , , y] = transform;
    if (str.trim() !== '') {
      if (isLineBegin && isFar(last, y)) parts.push('\n');
      last = { y, height: height || last.height };
      isLineBegin = false;
    }
    parts.push(str);
    if (hasEOL && parts.at(-1) !== '\n') {
      parts.push('\n');
      isLineBegin = true;
    }
  }
  return parts
    .join('')
    .replace(/(?<![ \t])[ \t]+$/gm, '')
    .replace(/\0/g, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
    .replace(HYPHENATED, '$1')
    .toWellFormed();
}

/** Also upwards: another column begins. */
function isFar(last: { y: number; height: number }, y: number): boolean {
  return last.height > 0 && (last.y - y > PARAGRAPH_GAP * last.height || y - last.y > last.height);
}
