/**
 * The languages that a collection's keyword text may have, as ISO 639-1 codes: those with a Snowball stemmer in the
 * library (see snowball-stemmer.ts).
 */
export const LANGUAGES = [
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

export type Language = (typeof LANGUAGES)[number];

export function isLanguage(code: unknown): code is Language {
  return (LANGUAGES as readonly unknown[]).includes(code);
}
