/** Length of a piece in UTF-16 code units: folding one takes a fraction of a millisecond. */
const PIECE_UNITS = 4096;
/**
 * The space, the highest of the code units up to which all are white space or control characters. None of them is part
 * of a word or affects its neighbours.
 */
const SPACE = 0x20;

/**
 * Cuts a long text in front of white space into pieces. The terms of the pieces, one after the other, are those of the
 * text. A stretch without white space stays in one piece, however long it is.
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
