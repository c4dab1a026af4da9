/** Length of a piece in UTF-16 code units: folding one takes a fraction of a millisecond. */
const PIECE_UNITS = 4096;
/** The last of the control characters and the space: none of them is part of a word or changes what is beside it. */
const SPACE = 0x20;

/**
 * A long text as pieces whose terms, one after the other, are those of the text: cut in front of white space. What has no
 * white space stays in one piece, however long it is.
 */
export function* textPieces(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > PIECE_UNITS) {
    let end = start + PIECE_UNITS;
    while (end < text.length && text.charCodeAt(end) > SPACE) end++;
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}
