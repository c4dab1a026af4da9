/**
 * A JSON number that no double holds exactly: an integer beyond 2^53, or a number of three and more digits behind its
 * E.
 */
const LARGE_NUMBER = /[:[,]\s*-?\d{16,}\s*[,}\]]|\d[eE]\+?\d{3,}\s*[,}\]]/;
/** What is said of them. */
export const LARGE_INTEGERS = 'integers beyond 2^53 became strings of their digits';
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const STRINGS_AND_NUMBERS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * Parses JSON; an integer that a double can't hold becomes a string of its digits instead of another number, and so
 * does a number beyond all doubles. Ids and keys of peers are 64 bits wide. `onLarge` is told of each.
 */
export function parseLossless(text: string, onLarge: () => void = () => {}): unknown {
  if (!LARGE_NUMBER.test(text)) return JSON.parse(text);
  const quoted = text.replaceAll(STRINGS_AND_NUMBERS, (token) => {
    if (token.startsWith('"') || !isLarge(token)) return token;
    onLarge();
    return `"${token}"`;
  });
  return JSON.parse(quoted);
}

/**
 * As JSON.stringify. A whole number beyond 2^53 is a double here, and gets a fraction of 0, by which
 * {@link parseLossless} knows it from digits that no double may hold.
 */
export function losslessJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!LARGE_NUMBER.test(text)) return text;
  return text.replaceAll(STRINGS_AND_NUMBERS, (token) =>
    token.startsWith('"') || !isLarge(token) ? token : `${token}.0`,
  );
}

/** Whether a number of JSON is another one as a double: a whole number in digits, or one that would be infinite. */
function isLarge(token: string): boolean {
  return /^-?\d+$/.test(token)
    ? token.length >= 16 && !Number.isSafeInteger(Number(token))
    : NUMBER.test(token) && !Number.isFinite(Number(token));
}

/** What Python writes for numbers that are none. */
const NO_NUMBERS = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b(?!\s*:)/g;
/** Stands for them while the rest is parsed: a character that is for private use, which no name has. */
const MARK = '\u{f7a11}';

/**
 * As {@link parseLossless}, also of JSON with NaN, Infinity and -Infinity, as Python writes it. Throws a SyntaxError.
 */
export function parseLenient(text: string): unknown {
  try {
    return parseLossless(text);
  } catch (error) {
    if (!/NaN|Infinity/.test(text) || text.includes(MARK)) throw error;
    const marked = text.replaceAll(NO_NUMBERS, (token) => (token.startsWith('"') ? token : `"${MARK}${token}"`));
    if (marked === text) throw error;
    return withNumbers(parseLossless(marked));
  }
}

function withNumbers(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith(MARK) ? Number(value.slice(MARK.length)) : value;
  if (Array.isArray(value)) return value.map(withNumbers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withNumbers(inner)]));
}
