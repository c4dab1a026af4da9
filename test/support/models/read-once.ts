import type { Analyser } from '../../../shared/base/text/analyser';

/** What plain readings ask of an analyser. Nobody changes what it answers. */
export interface ReadTexts {
  terms(text: string): readonly string[];
  termsToFind(text: string): readonly string[];
  /** Whether one of its terms is a stop word. */
  isStopWord(word: string): boolean;
}

/** Reads each text once: a plain reading asks about the same few hundred texts some hundred thousand times. */
export function readOnce(analyser: Analyser): ReadTexts {
  return {
    terms: once((text) => analyser.terms(text)),
    termsToFind: once((text) => analyser.termsToFind(text)),
    isStopWord: once((word) => [...analyser.placedParts(word)].flat().some((placed) => placed.isStopWord)),
  };
}

/** A function that is asked once for each text. */
function once<Answer>(ask: (text: string) => Answer): (text: string) => Answer {
  const known = new Map<string, Answer>();
  return (text) => {
    let answer = known.get(text);
    if (answer === undefined) known.set(text, (answer = ask(text)));
    return answer;
  };
}
