import type { Analyser, QueryWord } from '../../../shared/base/text/analyser';
import { analyserFor } from '../../../shared/base/text/analyser-for';
import { foldText } from '../../../shared/base/text/fold-text';
import type { Language } from '../../../shared/base/text/language';
import type { PlacedTerm } from '../../../shared/base/text/placed-terms';
import { isScriptWithoutSpaces, segmentClassOf } from '../../../shared/base/text/segment-class';
import { type CutsText, type CutWord, soughtWords, storedWords } from './cut-words';

/** Words that queries of a collection leave out besides those of its language, and of these those that they don't. */
export interface StopWords {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/** Every process holds those of all collections. */
const STOP_WORD_BOUNDS = { words: 1_000, characters: 64, bytes: 65_536 } as const;

/** What is too much or too little of stop words, in any language; null: nothing. */
export function excessOfStopWords({ add, remove }: StopWords): string | null {
  const { words, characters, bytes } = STOP_WORD_BOUNDS;
  for (const [name, given] of Object.entries({ add, remove })) {
    if (given.length > words) return `must have at most ${words} words in ${name}`;
    if (given.some(({ length }) => length === 0 || length > characters))
      return `must have words of 1 to ${characters} characters in ${name}`;
  }
  const stored = Buffer.byteLength(JSON.stringify({ add, remove }));
  return stored > bytes ? `must take at most ${bytes} bytes as JSON, and takes ${stored}` : null;
}

/**
 * The analyser of a collection with stop words of its own, in all their forms. What is stored is the same, so shards
 * know nothing of them: what is asked of shards says which words count (synonyms.ts).
 */
export class OwnStopWords implements Analyser {
  readonly name: string;
  readonly version: number;
  readonly queryWords?: (text: string) => Generator<QueryWord[]>;
  private readonly added: ReadonlySet<string>;
  private readonly removed: ReadonlySet<string>;

  constructor(
    private readonly inner: Analyser,
    { add, remove }: StopWords,
  ) {
    this.name = inner.name;
    this.version = inner.version;
    const keys = (words: readonly string[]): Set<string> =>
      new Set(words.flatMap((word) => [...storedWords(inner)(word).map(({ key }) => key), foldText(word).text.trim()]));
    this.added = keys(add);
    this.removed = keys(remove);
    if (inner.queryWords !== undefined) this.queryWords = (text) => this.ownQueryWords(text);
  }

  terms(text: string): string[] {
    return this.inner.terms(text);
  }

  parts(text: string): Iterable<string[]> {
    return this.inner.parts(text);
  }

  *placedParts(text: string): Generator<PlacedTerm[]> {
    for (const part of this.inner.placedParts(text))
      yield part.map((placed) =>
        // Characters of a run are no words.
        isScriptWithoutSpaces(segmentClassOf(placed.term, 0))
          ? placed
          : { ...placed, isStopWord: this.isStopWord(placed.term, placed.isStopWord) },
      );
  }

  termsToFind(text: string): string[] {
    const words = this.stored(text);
    const counting = countingWords(words);
    if (this.queryWords === undefined) return counting.flatMap(({ terms }) => terms);
    if (counting.length === words.length) return this.inner.termsToFind(text);
    return this.inner.termsToFind(counting.map(({ start, end }) => text.slice(start, end)).join(' '));
  }

  /** See storedWords; with what the language says. */
  readonly stored: CutsText = (text) => this.judged(storedWords(this.inner)(text));

  /** See soughtWords. */
  readonly sought: CutsText = (text) => this.judged(soughtWords(this.inner)(text));

  private judged(words: readonly CutWord[]): CutWord[] {
    return words.map((word) => ({
      ...word,
      isStopWord: this.isStopWord(word.key, word.isStopWord),
      isOfLanguage: word.isStopWord,
    }));
  }

  private isStopWord(key: string, isOfLanguage: boolean): boolean {
    return this.removed.has(key) ? false : isOfLanguage || this.added.has(key);
  }

  private *ownQueryWords(text: string): Generator<QueryWord[]> {
    const parts = [...this.inner.queryWords!(text)];
    const isLeftOut = (word: QueryWord): boolean =>
      word.kind !== 'joint' && this.added.has(word.text) && !this.removed.has(word.text);
    const counts = (word: QueryWord): boolean =>
      !isLeftOut(word) && (word.kind === 'word' || (word.kind === 'filler' && this.removed.has(word.text)));
    const isMeaningful = parts.some((part) => part.some(counts));
    for (const part of parts)
      yield part.flatMap((word) => {
        if (isMeaningful && isLeftOut(word)) return [];
        return [word.kind === 'filler' && this.removed.has(word.text) ? { ...word, kind: 'word' as const } : word];
      });
  }
}

/** Those that are no stop words; where there are none, all. */
export function countingWords(words: readonly CutWord[]): CutWord[] {
  const counting = words.filter(({ isStopWord }) => !isStopWord);
  return counting.length === 0 ? [...words] : counting;
}

/** By language. */
const known = new WeakMap<StopWords, Map<Language | null, Analyser>>();

/** The analyser of a collection's queries. */
export function analyserOf({
  language,
  stopWords,
}: {
  language: Language | null;
  stopWords?: StopWords | undefined;
}): Analyser {
  if (stopWords === undefined) return analyserFor(language);
  let byLanguage = known.get(stopWords);
  if (byLanguage === undefined) known.set(stopWords, (byLanguage = new Map()));
  let analyser = byLanguage.get(language);
  if (analyser === undefined) byLanguage.set(language, (analyser = new OwnStopWords(analyserFor(language), stopWords)));
  return analyser;
}

/** What is wrong with stop words in a language; null: nothing. */
export function faultOfStopWords({ add, remove }: StopWords, language: Language | null): string | null {
  const cut = storedWords(analyserFor(language));
  const strange = [...add, ...remove].find((word) => cut(word).length !== 1);
  return strange === undefined ? null : `stop_words has ${JSON.stringify(strange)}, which is not one word`;
}
