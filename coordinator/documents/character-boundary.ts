/** Whether a code unit is white space or a control character: what makes a text blank. False past the end (NaN). */
export function isBlankUnit(unit: number): boolean {
  if (unit <= 0x20) return true;
  if (unit < 0x7f) return false;
  if (unit <= 0xa0) return true;
  return unit >= 0x1680 && BLANKS.has(unit);
}

/** The white space of Unicode above U+00A0, and the byte order mark. */
const BLANKS: ReadonlySet<number> = new Set([
  0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
  0xfeff,
]);

const MARK_OR_MODIFIER = /^[\p{M}\p{Emoji_Modifier}\u200d]/u;

/**
 * Whether a cut at `at` would split a surrogate pair, part a mark or an emoji modifier from its base, or break a joined
 * emoji. A cheap part of UAX 29's grapheme clusters: Hangul jamo and flags may be parted.
 */
export function splitsCharacter(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  const previous = text.charCodeAt(at - 1);
  if ((unit < 0x300 || Number.isNaN(unit)) && previous !== ZERO_WIDTH_JOINER) return false;
  if (previous === ZERO_WIDTH_JOINER || (previous & 0xfc00) === 0xd800) return true;
  return MARK_OR_MODIFIER.test(text.slice(at, at + 2));
}

const ZERO_WIDTH_JOINER = 0x200d;
