/** How word segmentation treats a code point of folded text. */
export enum SegmentClass {
  separator,
  /** Letter, mark or digit of a script that puts spaces between words. */
  word,
  /** Han character: a term by itself and in pairs. */
  han,
  /** Letter of another script written without spaces: a term in pairs. */
  unspaced,
  /** Mark of such a script: belongs to the letter before it. */
  unspacedMark,
  /** Emoji and other pictographs. */
  symbol,
}

/** Whether a run of characters that starts with this class is cut into pairs. */
export function isScriptWithoutSpaces(kind: SegmentClass): boolean {
  return kind === SegmentClass.han || kind === SegmentClass.unspaced;
}

const HAN = /^(?=[\p{L}\p{N}])\p{Script_Extensions=Han}$/u;
const LETTER = /^\p{L}$/u;
const UNSPACED =
  /^[\p{Script_Extensions=Hiragana}\p{Script_Extensions=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]$/u;
const MARK = /^\p{M}$/u;
const WORD = /^[\p{L}\p{M}\p{N}]$/u;
const PICTOGRAPH = /^\p{Extended_Pictographic}$/u;

const UNKNOWN = 255;
/** Classes of the basic plane, filled when a character first occurs: Unicode property tests take microseconds. */
const basicPlane = new Uint8Array(0x10000).fill(UNKNOWN);

/** The class of the code point at `position`; a lone surrogate is a separator. */
export function segmentClassOf(text: string, position: number): SegmentClass {
  const unit = text.charCodeAt(position);
  const known = basicPlane[unit];
  if (known !== UNKNOWN) return known;
  if (unit < 0xd800 || unit > 0xdfff) return (basicPlane[unit] = classify(String.fromCharCode(unit)));
  const codePoint = text.codePointAt(position) as number;
  return codePoint > 0xffff ? classify(String.fromCodePoint(codePoint)) : SegmentClass.separator;
}

function classify(character: string): SegmentClass {
  const isUnspaced = UNSPACED.test(character);
  if (isUnspaced && MARK.test(character)) return SegmentClass.unspacedMark;
  if (HAN.test(character) && !isUnspaced) return SegmentClass.han;
  if (isUnspaced && LETTER.test(character)) return SegmentClass.unspaced;
  if (WORD.test(character)) return SegmentClass.word;
  return PICTOGRAPH.test(character) ? SegmentClass.symbol : SegmentClass.separator;
}
