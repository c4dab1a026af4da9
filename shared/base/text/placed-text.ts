import { ASCII, contractionParts, INVISIBLE_CLASS } from './fold-text';

/** A folded text, and where in the original each of its code units comes from. */
export interface PlacedText {
  text: string;
  /**
   * For each code unit of `text`, the first of the original that it was made of, and the first behind these. null: its
   * own number, and the next.
   */
  starts: Int32Array | null;
  ends: Int32Array | null;
}

/** A longer cluster, a letter with all its marks, is folded each time. */
const REMEMBERED_UNITS_MAX = 16;
const REMEMBERED_CLUSTERS = 4096;
/** Placed in one step, of clusters that take a few microseconds each at worst. */
const STEP_UNITS = 512;

/** Hangul vowels and final consonants, which normalisation joins to the syllable before them. */
const JOINING_JAMO = /^[\u1160-\u11ff\ud7b0-\ud7ff]/;
const MARK = /^\p{M}/u;
/** Folding takes them out, so that their neighbours meet. */
const INVISIBLE = new RegExp(INVISIBLE_CLASS);
const WHITE = /[\0- ]/;

/** Whether a character of the basic plane joins the one before it: 0 not known yet, 1 no, 2 yes. */
const joining = new Uint8Array(0x10000);

/** Whether what `character` is folded to may change with the character before it. */
function joinsPrevious(character: string): boolean {
  const normal = character.normalize('NFKC');
  return MARK.test(normal) || JOINING_JAMO.test(normal) || INVISIBLE.test(character);
}

/**
 * Folds texts and keeps the places. A text is folded as a whole, so the result is the same as without places. Then each
 * cluster (a character and those that join it) is folded alone, to learn how many code units it becomes. Where these
 * do not add up, because neighbours changed each other, all of a word has the place of the word.
 */
export class TextFolder {
  /** For each code unit that is a cluster by itself, how many it becomes, and one more; 0: not known yet. */
  private units: Uint8Array | null = null;
  /** The same of clusters with several. */
  private clusters = new Map<string, number>();

  /**
   * `fold`: folds any text, and gives two texts, of which the second begins with white space, what it gives both
   * together. It changes no number of code units of ASCII.
   */
  constructor(private readonly fold: (text: string) => string) {}

  /** A text without the endings of contractions, and its places, in steps. The first folds the text. */
  *placed(text: string): Generator<undefined, PlacedText> {
    return withoutContractions(yield* this.folded(text));
  }

  private *folded(text: string): Generator<undefined, PlacedText> {
    const folded = this.fold(text);
    if (ASCII.test(text)) return { text: folded, starts: null, ends: null };
    const places = newPlaces(folded);
    const behind = yield* this.place(text, 0, text.length, places, 0);
    return behind === folded.length ? places : yield* this.foldedByWords(text, folded);
  }

  /** Places clusters from `from` to `to`. Answers the place behind the last, which may be one that there is not. */
  private *place(
    text: string,
    from: number,
    to: number,
    { starts, ends }: FilledPlaces,
    at: number,
  ): Generator<undefined, number> {
    let pause = from + STEP_UNITS;
    for (let start = from; start < to;) {
      const end = endOfCluster(text, start, to);
      const units = this.unitsOf(text, start, end);
      for (let i = 0; i < units; i += 1) {
        starts[at] = start;
        ends[at] = end;
        at += 1;
      }
      start = end;
      if (start < pause) continue;
      pause = start + STEP_UNITS;
      yield;
    }
    return at;
  }

  private *foldedByWords(text: string, folded: string): Generator<undefined, PlacedText> {
    const places = newPlaces(folded);
    let at = 0;
    for (let start = 0; start < text.length;) {
      let letters = start;
      while (letters < text.length && WHITE.test(text[letters])) letters += 1;
      let end = letters;
      while (end < text.length && !WHITE.test(text[end])) end += 1;
      const behind = at + this.fold(text.slice(start, end)).length;
      if ((yield* this.place(text, start, end, places, at)) !== behind) {
        places.starts.fill(letters, at, behind);
        places.ends.fill(end, at, behind);
      }
      at = behind;
      start = end;
    }
    return places;
  }

  private unitsOf(text: string, start: number, end: number): number {
    if (end - start > 1) return this.unitsOfCluster(text.slice(start, end));
    this.units ??= new Uint8Array(0x10000);
    const unit = text.charCodeAt(start);
    if (this.units[unit] === 0) this.units[unit] = this.fold(text[start]).length + 1;
    return this.units[unit] - 1;
  }

  private unitsOfCluster(cluster: string): number {
    const known = this.clusters.get(cluster);
    if (known !== undefined) return known;
    const units = this.fold(cluster).length;
    if (cluster.length <= REMEMBERED_UNITS_MAX) {
      if (this.clusters.size === REMEMBERED_CLUSTERS) this.clusters = new Map();
      this.clusters.set(cluster, units);
    }
    return units;
  }
}

interface FilledPlaces extends PlacedText {
  starts: Int32Array;
  ends: Int32Array;
}

function newPlaces(text: string): FilledPlaces {
  return { text, starts: new Int32Array(text.length), ends: new Int32Array(text.length) };
}

/** End of the character at `start` and of those that join it. */
function endOfCluster(text: string, start: number, to: number): number {
  let end = start + unitsAt(text, start);
  while (end < to && isJoining(text, end)) end += unitsAt(text, end);
  return end;
}

function isJoining(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) return false;
  if (unit >= 0xd800 && unit < 0xe000) return joinsPrevious(String.fromCodePoint(text.codePointAt(at) as number));
  if (joining[unit] === 0) joining[unit] = joinsPrevious(text[at]) ? 2 : 1;
  return joining[unit] === 2;
}

function unitsAt(text: string, at: number): number {
  return (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
}

function withoutContractions(placed: PlacedText): PlacedText {
  const parts = contractionParts(placed.text);
  if (parts.length === 0) return placed;
  const { text, starts, ends } = placed;
  let kept = '';
  let from = 0;
  for (const [start, end] of parts) {
    kept += text.slice(from, start);
    from = end;
  }
  const left = newPlaces(kept + text.slice(from));
  let at = 0;
  let part = 0;
  for (let unit = 0; unit < text.length; unit += 1) {
    if (unit === parts[part]?.[0]) unit = parts[part++][1];
    if (unit === text.length) break;
    left.starts[at] = starts === null ? unit : starts[unit];
    left.ends[at] = ends === null ? unit + 1 : ends[unit];
    at += 1;
  }
  return left;
}
