import { type Analyser, defaultAnalyser, type QueryWord } from './analyser';
import { capped, endOfCharacter, unitsAt } from './cut-terms';
import { foldLetters, foldText } from './fold-text';
import { nounLength } from './korean-particles';
import type { UnspacedLanguage } from './language';
import type { PlacedTerm } from './placed-terms';
import { TextFolder } from './placed-text';
import { isScriptWithoutSpaces, SegmentClass, segmentClassOf } from './segment-class';
import { textPieces } from './text-pieces';
import { wordEnds } from './word-breaks';

/** A stretch of folded text: a word, a symbol, or a run of a script without spaces. */
interface Stretch {
  start: number;
  end: number;
  isRun: boolean;
}

/**
 * For scripts without spaces. It stores the terms of the language-neutral analyser, so no dictionary decides what a
 * text is found by. A query has words, by a dictionary: of each, all pairs of characters. Pairs across two words only
 * fill in, as do words of hiragana, in Japanese those of one character, and particles of Korean. Single characters of
 * longer words are not looked for: 北京 does not find 東京.
 */
export class UnspacedAnalyser implements Analyser {
  readonly name: string;
  readonly version = 1;
  private readonly folder = new TextFolder(foldLetters);

  constructor(private readonly language: UnspacedLanguage) {
    this.name = `unspaced-${language}`;
  }

  terms(text: string): string[] {
    return defaultAnalyser.terms(text);
  }

  parts(text: string): Iterable<string[]> {
    return defaultAnalyser.parts(text);
  }

  placedParts(text: string): Iterable<PlacedTerm[]> {
    return defaultAnalyser.placedParts(text);
  }

  /** Without a dictionary, as filters must be the same in all replicas: the pairs of each run. */
  termsToFind(text: string): string[] {
    const { text: folded } = foldText(text);
    const terms: string[] = [];
    for (const stretch of stretchesOf(folded)) {
      if (!stretch.isRun) {
        terms.push(capped(folded, stretch.start, stretch.end));
        continue;
      }
      const bounds = charactersOf(folded, stretch);
      for (const term of termsBetween(folded, bounds, 0, bounds.length - 1)) terms.push(term);
    }
    return terms;
  }

  *queryWords(text: string): Generator<QueryWord[]> {
    let base = 0;
    for (const piece of textPieces(text)) {
      const steps = this.folder.placed(piece);
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) yield [];
      const { text: folded, starts, ends } = step.value;
      for (const stretch of stretchesOf(folded))
        for (const words of stretch.isRun ? this.wordsOfRun(folded, stretch) : [[wordOf(folded, stretch)]])
          yield words.map((word) => ({
            ...word,
            start: base + (starts === null ? word.start : starts[word.start]),
            end: base + (ends === null ? word.end : ends[word.end - 1]),
          }));
      base += piece.length;
    }
  }

  /** Of a word of so many characters, those before a Korean particle. */
  private nounLength(word: string, characters: number): number {
    const mayBeKorean = (this.language === 'ko' || this.language === 'auto') && word.length === characters;
    return mayBeKorean ? nounLength(word) : characters;
  }

  /** The words of a run and where they meet, in blocks. */
  private *wordsOfRun(text: string, stretch: Stretch): Generator<QueryWord[]> {
    const run = text.slice(stretch.start, stretch.end);
    const isJapanese = this.language === 'ja' || (this.language === 'auto' && KANA.test(run));
    const bounds = charactersOf(text, stretch);
    let first = 0;
    for (const block of wordEnds(run)) {
      const words: QueryWord[] = [];
      for (const end of block) {
        let behind = first;
        while (bounds[behind] < stretch.start + end) behind += 1;
        // Within a character, or where the former word ended already.
        if (bounds[behind] !== stretch.start + end || behind === first) continue;
        if (first > 0) words.push(partOf(text, bounds, first - 1, first + 1, 'joint'));
        const word = run.slice(bounds[first] - stretch.start, end);
        const isFiller = HIRAGANA.test(word) || (isJapanese && behind === first + 1);
        const noun = first + this.nounLength(word, behind - first);
        const parts = [partOf(text, bounds, first, noun, isFiller ? 'filler' : 'word')];
        if (noun < behind)
          parts.push(partOf(text, bounds, noun - 1, noun + 1, 'joint'), partOf(text, bounds, noun, behind, 'filler'));
        for (const part of parts) if (part.terms.length > 0) words.push(part);
        first = behind;
      }
      yield words;
    }
  }
}

/** Particles and endings of Japanese. */
const HIRAGANA = /^[\p{Script=Hiragana}\u30fc]+$/u;
const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u;

function wordOf(text: string, { start, end }: Stretch): QueryWord {
  const term = capped(text, start, end);
  return { text: term, terms: [term], start, end, kind: 'word' };
}

/** As TermCutter cuts them. */
function* stretchesOf(text: string): Generator<Stretch> {
  for (let at = 0; at < text.length;) {
    const start = at;
    const kind = segmentClassOf(text, at);
    const isRun = isScriptWithoutSpaces(kind);
    at += unitsAt(text, at);
    if (isRun) {
      at = endOfCharacter(text, start);
      while (at < text.length && isScriptWithoutSpaces(segmentClassOf(text, at))) at = endOfCharacter(text, at);
    } else if (kind === SegmentClass.word)
      while (at < text.length && segmentClassOf(text, at) === SegmentClass.word) at += unitsAt(text, at);
    else if (kind !== SegmentClass.symbol) continue;
    yield { start, end: at, isRun };
  }
}

/** Where the characters of a run begin, and the end of the run. */
function charactersOf(text: string, { start, end }: Stretch): number[] {
  const bounds = [start];
  for (let at = start; at < end;) bounds.push((at = endOfCharacter(text, at)));
  return bounds;
}

/** The terms of a text that is a part of a run: its pairs, or its only character if that is a term. */
function termsBetween(text: string, bounds: readonly number[], first: number, behind: number): string[] {
  if (behind - first === 1) {
    const isTerm = bounds.length === 2 || segmentClassOf(text, bounds[first]) === SegmentClass.han;
    return isTerm ? [capped(text, bounds[first], bounds[behind])] : [];
  }
  const pairs: string[] = [];
  for (let i = first; i + 2 <= behind; i++) pairs.push(capped(text, bounds[i], bounds[i + 2]));
  return pairs;
}

function partOf(
  text: string,
  bounds: readonly number[],
  first: number,
  behind: number,
  kind: QueryWord['kind'],
): QueryWord {
  const [start, end] = [bounds[first], bounds[behind]];
  return { text: capped(text, start, end), terms: termsBetween(text, bounds, first, behind), start, end, kind };
}
