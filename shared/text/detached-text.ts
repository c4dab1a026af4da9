/** V8 shares the memory of substrings from 13 characters on: kept as it is, a piece would keep its whole text alive. */
export function detachedText(piece: string): string {
  return piece.length < 13 ? piece : Buffer.from(piece, 'utf16le').toString('utf16le');
}
