/** What the characters become. */
export interface CaseTable {
  /** By code unit. Halves of surrogate pairs stay. */
  units: Uint16Array;
  /** Code points beyond U+FFFF, rising, each followed by what it becomes; both have the same high surrogate. */
  pairs: Uint32Array;
}

const UNITS = 0x1_0000;
/** No later plane has letters of two cases. */
const POINTS_END = 0x2_0000;
/** A letter of Turkish, which is another one than i. */
const DOTLESS_I = 'ı';
const ASCII = /^[\0-\x7f]*$/;

let made: CaseTable | null = null;

/** Made when it is first asked for, which takes some ten milliseconds. */
export function caseTable(): CaseTable {
  return (made ??= newTable());
}

/**
 * A text without the difference of upper and lower case: each character becomes the lower case of its upper case,
 * where those are one character each. So Σ, σ and ς are one; ß stays, as do accents. The length stays.
 */
export function foldCases(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const { units } = caseTable();
  let folded = '';
  for (const character of text)
    folded += character.length === 1 ? String.fromCharCode(units[character.charCodeAt(0)]) : foldedCharacter(character);
  return folded;
}

function newTable(): CaseTable {
  const units = Uint16Array.from({ length: UNITS }, (_, unit) =>
    isSurrogate(unit) ? unit : foldedCharacter(String.fromCharCode(unit)).charCodeAt(0),
  );
  const pairs: number[] = [];
  for (let point = UNITS; point < POINTS_END; point++) {
    const folded = foldedCharacter(String.fromCodePoint(point)).codePointAt(0) as number;
    if (folded !== point) pairs.push(point, folded);
  }
  return { units, pairs: Uint32Array.from(pairs) };
}

function foldedCharacter(character: string): string {
  if (character === DOTLESS_I) return character;
  const upper = character.toUpperCase();
  const single = upper.length === character.length ? upper : character;
  const lower = single.toLowerCase();
  return lower.length === character.length ? lower : character;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
