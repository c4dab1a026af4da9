import type { Analyser } from './analyser';
import { capped, cutAsciiIntoTerms, cutInParts, cutIntoTerms } from './cut-terms';
import { detachedText } from './detached-text';
import { composeLetters, type ComposedText, composeText } from './fold-text';
import { type PlacedTerm, placedTerms } from './placed-terms';
import { TextFolder } from './placed-text';
import type { Stemmer } from './snowball-stemmer';
import { textPieces } from './text-pieces';

/**
 * How many words each of the two maps of stems holds. Stemming a word takes about 10 µs, and most words of a text were
 * seen before.
 */
const REMEMBERED_WORDS = 1 << 15;

/** Words in one part of a text: stemming one takes about 20 µs, and ten times that for a word of 128 letters. */
const PART_WORDS = 32;

interface KnownWord {
  /** Empty: the word gives no term. */
  term: string;
  isStopWord: boolean;
}

/**
 * Cuts words like the language-neutral analyser, then stems them. Stop words are stored like all other terms, so that
 * no text loses words. Only a query leaves them out, and only if it has other words: "To be or not to be" finds texts
 * that contain these words.
 */
export class LanguageAnalyser implements Analyser {
  readonly name: string;
  readonly version = 1;
  private readonly stem: Stemmer;
  private readonly stopWords: ReadonlySet<string>;
  private readonly hasDotlessI: boolean;
  private readonly rememberedWords: number;
  private readonly folder = new TextFolder((text) => composeLetters(this.respelled(text)));
  /** Terms of words: `recent` is filled until it is full, then becomes `older`, and the old `older` is dropped. */
  private recent = new Map<string, KnownWord>();
  private older = new Map<string, KnownWord>();

  /** `hasDotlessI`: the lower case of I is ı, and that of İ is i (Turkish). */
  constructor(options: {
    name: string;
    stem: Stemmer;
    stopWords: ReadonlySet<string>;
    hasDotlessI?: boolean;
    rememberedWords?: number;
  }) {
    this.name = options.name;
    this.stem = options.stem;
    this.stopWords = options.stopWords;
    this.hasDotlessI = options.hasDotlessI ?? false;
    this.rememberedWords = options.rememberedWords ?? REMEMBERED_WORDS;
  }

  terms(text: string): string[] {
    return this.stemmed(this.words(text));
  }

  *parts(text: string): Generator<string[]> {
    for (const piece of textPieces(text)) {
      for (const words of cutInParts(this.composed(piece), PART_WORDS)) yield this.stemmed(words);
    }
  }

  placedParts(text: string): Generator<PlacedTerm[]> {
    return placedTerms(text, this.folder, (word) => {
      const { term, isStopWord } = this.know(word.term);
      word.term = term;
      word.isStopWord = isStopWord;
      return term !== '';
    });
  }

  termsToFind(text: string): string[] {
    const known = this.words(text)
      .map((word) => this.know(word))
      .filter(({ term }) => term !== '');
    const meaningful = known.filter(({ isStopWord }) => !isStopWord);
    return (meaningful.length > 0 ? meaningful : known).map(({ term }) => term);
  }

  private words(text: string): string[] {
    const composed = this.composed(text);
    return composed.ascii ? cutAsciiIntoTerms(composed.text) : cutIntoTerms(composed.text);
  }

  private composed(text: string): ComposedText {
    return composeText(this.respelled(text));
  }

  private respelled(text: string): string {
    return this.hasDotlessI ? text.replace(/I\u0307|İ/g, 'i').replaceAll('I', 'ı') : text;
  }

  /** Replaces words with their terms, in the same array. */
  private stemmed(words: string[]): string[] {
    let count = 0;
    for (let i = 0; i < words.length; i++) {
      const { term } = this.know(words[i]);
      if (term !== '') words[count++] = term;
    }
    words.length = count;
    return words;
  }

  private know(word: string): KnownWord {
    let known = this.recent.get(word);
    if (known !== undefined) return known;
    const stem = this.older.get(word)?.term ?? this.stem(word);
    known = { term: detachedText(capped(stem, 0, stem.length)), isStopWord: this.stopWords.has(word) };
    if (this.recent.size === this.rememberedWords) {
      this.older = this.recent;
      this.recent = new Map();
    }
    this.recent.set(detachedText(word), known);
    return known;
  }
}
