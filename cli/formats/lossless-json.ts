/** A JSON number that no double holds exactly: an integer beyond 2^53. */
const LARGE_INTEGER = /[:[,]\s*-?\d{16,}\s*[,}\]]/;
/** What is said of them. */
export const LARGE_INTEGERS = 'integers beyond 2^53 became strings of their digits';
const STRINGS_AND_INTEGERS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/**
 * Parses JSON; an integer that a double can't hold becomes a string of its digits instead of another number. Ids and keys of
 * peers are 64 bits wide. `onLarge` is told of each.
 */
export function parseLossless(text: string, onLarge: () => void = () => {}): unknown {
  if (!LARGE_INTEGER.test(text)) return JSON.parse(text);
  const quoted = text.replaceAll(STRINGS_AND_INTEGERS, (token) => {
    if (token.length < 16 || token.startsWith('"') || !/^-?\d+$/.test(token) || Number.isSafeInteger(Number(token))) return token;
    onLarge();
    return `"${token}"`;
  });
  return JSON.parse(quoted);
}
