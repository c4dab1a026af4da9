/**
 * A copy of a piece of text. V8 lets substrings of 13 or more characters share memory with their text, so keeping such
 * a piece would keep the whole text in memory.
 */
export function detachedText(piece: string): string {
  return piece.length < 13 ? piece : Buffer.from(piece, 'utf16le').toString('utf16le');
}
