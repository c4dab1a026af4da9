/** A piece of a page as pdf.js gives it: `transform` and `height` in points. */
export interface PagePiece {
  str: string;
  hasEOL: boolean;
  height: number;
  transform: number[];
}

/** A gap of more lines than this parts paragraphs. */
const PARAGRAPH_GAP = 1.6;
/** The cosine of two directions that are the same. */
const SAME_DIRECTION = 0.9;
/** Characters that show whether a sentence goes on. */
const SEEN = 16;
/** A word that is divided at the end of a line. */
const HYPHENATED = /(\p{L})[-\u00ad\u2010]\n(?=\p{Ll})/gu;

/**
 * The text of a page: lines in the order in which the file has them, paragraphs where lines are farther apart, words
 * that a line's end divides in one piece.
 */
export function pageText(pieces: readonly PagePiece[]): string {
  const parts: string[] = [];
  let last: Place = { across: 0, height: 0, direction: [1, 0] };
  let isLineBegin = true;
  let said = '';
  for (const { str, hasEOL, height, transform } of pieces) {
    if (str.trim() !== '') {
      const place = placeOf(transform, height || last.height);
      if (isLineBegin && isFar(last, place, goesOn(said, str))) parts.push('\n');
      last = place;
      said = str;
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

/** Where a line stands: how far up, as its own letters have it, and where these run. */
interface Place {
  across: number;
  height: number;
  direction: [x: number, y: number];
}

function placeOf([a, b, , , x, y]: number[], height: number): Place {
  const length = Math.hypot(a, b) || 1;
  return { across: (a * y - b * x) / length, height, direction: [a / length, b / length] };
}

/** Whether a sentence is under way, which what comes next goes on with: in another column, or on another page. */
export function goesOn(before: string, next: string): boolean {
  return /[\p{L}\p{N},\-\u2010\u00ad]\s*$/u.test(before.slice(-SEEN)) && /^\s*\p{Ll}/u.test(next.slice(0, SEEN));
}

/**
 * Also upwards: another column begins, with a paragraph unless a sentence goes on. Or what stands in another direction
 * does.
 */
function isFar(last: Place, next: Place, isSentence: boolean): boolean {
  if (last.height === 0) return false;
  const turned = last.direction[0] * next.direction[0] + last.direction[1] * next.direction[1];
  const down = last.across - next.across;
  return turned < SAME_DIRECTION || down > PARAGRAPH_GAP * last.height || (-down > last.height && !isSentence);
}
