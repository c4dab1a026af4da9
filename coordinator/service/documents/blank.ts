/**
 * Whether a code unit is white space or a control character; a text of only these is blank. False past the end (NaN).
 */
export function isBlankUnit(unit: number): boolean {
  if (unit <= 0x20) return true;
  if (unit < 0x7f) return false;
  if (unit <= 0xa0) return true;
  return unit >= 0x1680 && BLANKS.has(unit);
}

/** The white space of Unicode above U+00A0, and the byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([
  0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029,
  0x202f, 0x205f, 0x3000, 0xfeff,
]);

/** The first position from `from` on that is not blank; the text's length if there is none. */
export function skipBlank(text: string, from: number): number {
  let at = from;
  while (at < text.length && isBlankUnit(text.charCodeAt(at))) at++;
  return at;
}

/** The position after the last unit before `from` that is not blank; 0 if there is none. */
export function skipBlankBackward(text: string, from: number): number {
  let at = from;
  while (at > 0 && isBlankUnit(text.charCodeAt(at - 1))) at--;
  return at;
}
