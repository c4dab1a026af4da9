/** Languages whose words are stemmed, as ISO 639-1 codes: those with a Snowball stemmer in the library. */
export const STEMMED_LANGUAGES = [
  'ar',
  'ca',
  'cs',
  'da',
  'de',
  'en',
  'es',
  'eu',
  'fi',
  'fr',
  'ga',
  'hu',
  'hy',
  'it',
  'nl',
  'no',
  'pt',
  'ro',
  'ru',
  'sl',
  'sv',
  'ta',
  'tr',
] as const;

/**
 * Languages in whose queries words are found by a dictionary, because they are written without spaces; `auto`: which
 * one it is can be seen in each query.
 */
export const UNSPACED_LANGUAGES = ['zh', 'ja', 'ko', 'auto'] as const;

/** The languages that a collection's keyword text may have. */
export const LANGUAGES = [...STEMMED_LANGUAGES, ...UNSPACED_LANGUAGES] as const;

export type StemmedLanguage = (typeof STEMMED_LANGUAGES)[number];
export type UnspacedLanguage = (typeof UNSPACED_LANGUAGES)[number];
export type Language = (typeof LANGUAGES)[number];

/** Analysers by name; `unicode`: of no language. */
export const ANALYSER_NAMES = [...LANGUAGES, 'unicode'] as const;
export type AnalyserName = (typeof ANALYSER_NAMES)[number];

export function isLanguage(code: unknown): code is Language {
  return (LANGUAGES as readonly unknown[]).includes(code);
}

export function isAnalyserName(name: unknown): name is AnalyserName {
  return (ANALYSER_NAMES as readonly unknown[]).includes(name);
}

/** Whether it is one of {@link UNSPACED_LANGUAGES}. */
export function isUnspaced(language: Language | null): language is UnspacedLanguage {
  return (UNSPACED_LANGUAGES as readonly unknown[]).includes(language);
}
