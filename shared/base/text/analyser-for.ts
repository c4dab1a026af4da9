import { QuiverError } from '../errors/quiver-error';
import { type Analyser, defaultAnalyser } from './analyser';
import { isLanguage, isUnspaced, type Language, type StemmedLanguage } from './language';
import { LanguageAnalyser } from './language-analyser';
import { snowballStemmer } from './snowball-stemmer';
import { stopWords } from './stop-words';
import { UnspacedAnalyser } from './unspaced-analyser';

const analysers = new Map<Language, Analyser>();

/**
 * The analyser of a collection's language. There is one per process, because it remembers stems. Null gives the
 * language-neutral one. Errors: storage_failed for an unknown language, which a later version may have stored.
 */
export function analyserFor(language: Language | null): Analyser {
  if (language === null) return defaultAnalyser;
  let analyser = analysers.get(language);
  if (analyser === undefined) {
    if (!isLanguage(language))
      throw new QuiverError(
        'storage_failed',
        `this version has no analyser for the language ${JSON.stringify(language)}`,
      );
    analyser = isUnspaced(language) ? new UnspacedAnalyser(language) : stemming(language);
    analysers.set(language, analyser);
  }
  return analyser;
}

function stemming(language: StemmedLanguage): Analyser {
  return new LanguageAnalyser({
    name: `snowball-${language}`,
    stem: snowballStemmer(language),
    stopWords: stopWords(language),
    hasDotlessI: language === 'tr',
  });
}
