import { foldWord } from './fold-text';
import type { StemmedLanguage } from './language';

/** Turns a word into the stem that its forms share. Takes words of composed text, see composeText. */
export type Stemmer = (word: string) => string;

interface StemmerRules {
  /** The algorithm's name at snowballstem.org. */
  algorithm: string;
  /**
   * Accented letters that the rules distinguish. All others are folded first, so that "café" and "cafe" have the same
   * stem.
   */
  letters?: string;
  /** Replaces spellings that the algorithm does not know with those that it knows. */
  respell?: readonly [pattern: RegExp, replacement: string][];
}

// German, Dutch and the Nordic languages have no letters here: their rules only ask whether an accented letter is a
// vowel, or treat it like the plain letter. So folding first loses next to nothing, and "hauser" finds "Häuser".
const RULES: Record<StemmedLanguage, StemmerRules> = {
  ar: { algorithm: 'arabic', letters: 'آأؤإئ' },
  ca: { algorithm: 'catalan', letters: 'àáçèéíïòóúü' },
  cs: { algorithm: 'czech', letters: 'áčďéěíňóřšťúůýž' },
  da: { algorithm: 'danish' },
  de: { algorithm: 'german' },
  en: { algorithm: 'english' },
  // Spanish and Portuguese are often typed without accents, and no other words end like this.
  es: { algorithm: 'spanish', letters: 'áéíñóúü', respell: [[/([cs])ion$/, '$1ión']] },
  eu: { algorithm: 'basque' },
  fi: { algorithm: 'finnish' },
  fr: { algorithm: 'french', letters: 'àâçèéêëîïôùû' },
  ga: { algorithm: 'irish', letters: 'áéíóú' },
  hu: { algorithm: 'hungarian', letters: 'áéíóöúüőű' },
  hy: { algorithm: 'armenian' },
  it: { algorithm: 'italian', letters: 'àáèéìíòóùú' },
  nl: { algorithm: 'dutch' },
  no: { algorithm: 'norwegian' },
  pt: {
    algorithm: 'portuguese',
    letters: 'àáâãçéêíóôõúü',
    respell: [
      [/cao$/, 'ção'],
      [/coes$/, 'ções'],
    ],
  },
  // Since 2003 these letters are written with a comma below; the algorithm is older and knows the cedilla.
  ro: {
    algorithm: 'romanian',
    letters: 'âîăşţșț',
    respell: [
      [/ș/g, 'ş'],
      [/ț/g, 'ţ'],
    ],
  },
  ru: { algorithm: 'russian' },
  sl: { algorithm: 'slovene', letters: 'čšž' },
  sv: { algorithm: 'swedish' },
  ta: { algorithm: 'tamil' },
  tr: { algorithm: 'turkish', letters: 'çğıöşü' },
};

/**
 * The Snowball stemmer of a language (Porter, "Snowball: A language for stemming algorithms", 2001); for English, the
 * second version of Porter's. The stem has no accents. It is empty for a word that consists only of marks.
 */
export function snowballStemmer(language: StemmedLanguage): Stemmer {
  const { algorithm, letters = '', respell = [] } = RULES[language];
  // Loaded with the first language: most processes have none.
  const { newStemmer } = require('snowball-stemmers') as typeof import('snowball-stemmers');
  const stemmer = newStemmer(algorithm);
  return (word) => {
    let known = partlyFolded(word, letters);
    for (const [pattern, replacement] of respell) known = known.replace(pattern, replacement);
    return foldWord(stemmer.stem(known));
  };
}

function partlyFolded(word: string, letters: string): string {
  if (letters === '') return foldWord(word);
  let folded = '';
  for (const letter of word) folded += letters.includes(letter) ? letter : foldedLetter(letter);
  return folded;
}

/**
 * What each letter of the basic plane folds to, filled when it first occurs: folding takes a microsecond, and a word
 * has up to 128 letters.
 */
const foldedLetters: (string | undefined)[] = new Array(0x10000).fill(undefined);

function foldedLetter(letter: string): string {
  if (letter.length > 1) return foldWord(letter);
  return (foldedLetters[letter.charCodeAt(0)] ??= foldWord(letter));
}
