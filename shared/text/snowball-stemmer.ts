import { newStemmer } from 'snowball-stemmers';
import { foldWord } from './fold-text';
import type { Language } from './language';

/** Turns a word into what the forms of that word have in common; for words of composed text, see composeText. */
export type Stemmer = (word: string) => string;

interface StemmerRules {
  /** The algorithm's name at snowballstem.org. */
  algorithm: string;
  /** Accented letters that its rules tell apart; all others are folded before, so that "café" and "cafe" stem alike. */
  letters?: string;
  /** Spellings that the algorithm does not know, brought to those that it does. */
  respell?: readonly [pattern: RegExp, replacement: string][];
}

/*
 * German, Dutch and the Nordic languages have no letters here: their rules ask only whether an accented letter is a
 * vowel, or hold with and without it, so that folding first loses next to nothing and finds "Häuser" by "hauser".
 */
const RULES: Record<Language, StemmerRules> = {
  ar: { algorithm: 'arabic', letters: 'آأؤإئ' },
  ca: { algorithm: 'catalan', letters: 'àáçèéíïòóúü' },
  cs: { algorithm: 'czech', letters: 'áčďéěíňóřšťúůýž' },
  da: { algorithm: 'danish' },
  de: { algorithm: 'german' },
  en: { algorithm: 'english' },
  // Spanish and Portuguese are often typed without accents, and no other words end like these.
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
  pt: { algorithm: 'portuguese', letters: 'àáâãçéêíóôõúü', respell: [[/cao$/, 'ção'], [/coes$/, 'ções']] },
  // Since 2003 written with a comma below; the algorithm is older.
  ro: { algorithm: 'romanian', letters: 'âîăşţșț', respell: [[/ș/g, 'ş'], [/ț/g, 'ţ']] },
  ru: { algorithm: 'russian' },
  sl: { algorithm: 'slovene', letters: 'čšž' },
  sv: { algorithm: 'swedish' },
  ta: { algorithm: 'tamil' },
  tr: { algorithm: 'turkish', letters: 'çğıöşü' },
};

/**
 * The Snowball stemmer of a language (Porter, "Snowball: A language for stemming algorithms", 2001): for English the
 * second version of Porter's. What it gives has no accents any more, and is empty for a word of marks alone.
 */
export function snowballStemmer(language: Language): Stemmer {
  const { algorithm, letters = '', respell = [] } = RULES[language];
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

/** Letters of the basic plane with what they fold to, as they are met: folding one takes a microsecond, and a word has up to 128. */
const foldedLetters: (string | undefined)[] = new Array(0x10000).fill(undefined);

function foldedLetter(letter: string): string {
  if (letter.length > 1) return foldWord(letter);
  return (foldedLetters[letter.charCodeAt(0)] ??= foldWord(letter));
}
