import type { Analyser } from '../../../shared/base/text/analyser';
import { isScriptWithoutSpaces, segmentClassOf } from '../../../shared/base/text/segment-class';

/** A word of a text as rules see it. */
export interface CutWord {
  /** The same for words that are the same to the analyser. */
  key: string;
  /** What has the word has all of them. */
  terms: readonly string[];
  /** In the text. */
  start: number;
  end: number;
  /** Whether it does not count where there are others. */
  isStopWord: boolean;
  /** Of a collection with stop words of its own: whether it is one of its language. */
  isOfLanguage?: boolean;
}

/** Cuts a text into words, in their order, with repetitions. */
export type CutsText = (text: string) => CutWord[];

/** Without a dictionary, as filters cut: a run of a script without spaces is one word. */
export function storedWords(analyser: Analyser): CutsText {
  return (text) => {
    const words: (CutWord & { terms: string[] })[] = [];
    let isRun = false;
    for (const part of analyser.placedParts(text))
      for (const { term, start, end, isStopWord } of part) {
        const last = words.at(-1);
        const isUnspaced = isScriptWithoutSpaces(segmentClassOf(term, 0));
        if (last !== undefined && isRun && isUnspaced && start <= last.end) {
          last.end = Math.max(last.end, end);
          last.key += ` ${term}`;
          last.terms.push(term);
        } else words.push({ key: term, terms: [term], start, end, isStopWord });
        isRun = isUnspaced;
      }
    return words;
  };
}

/** As queries are cut for the list of keywords: with the dictionary of the language, if it has one. */
export function soughtWords(analyser: Analyser): CutsText {
  if (analyser.queryWords === undefined) return storedWords(analyser);
  return (text) =>
    [...analyser.queryWords!(text)]
      .flat()
      .flatMap(({ text: key, start, end, kind, terms }) =>
        kind === 'joint' || terms.length === 0 ? [] : [{ key, terms, start, end, isStopWord: kind === 'filler' }],
      );
}
