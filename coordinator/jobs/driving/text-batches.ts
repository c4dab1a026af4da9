/** Texts, and their characters, that are embedded in one call at most. */
export const TEXTS_AT_ONCE = 64;
const CHARACTERS_AT_ONCE = 256 * 1024;

/** Where the texts end, of at most `most`, that are embedded in one call with the one at `from`. */
export function endOfBatch(texts: readonly string[], from: number, most: number): number {
  let characters = texts[from].length;
  let to = from + 1;
  while (to < texts.length && to - from < most && characters + texts[to].length <= CHARACTERS_AT_ONCE) {
    characters += texts[to].length;
    to += 1;
  }
  return to;
}
