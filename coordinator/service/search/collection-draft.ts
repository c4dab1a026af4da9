import type { KeywordQuery } from '../keyword-query';
import { analyserOf } from '../synonyms/own-stop-words';
import { queryAnalysersOf } from '../synonyms/query-analysers';
import { type CollectionWords, synonymsOf } from '../synonyms/synonyms';
import { analysedDraft } from './analysed-planning';
import { type KeywordDraft, keywordDraft } from './keyword-planning';
import { bagOfWords, wholeBag } from './query-words';

/** A query without signs as one that has parts, where its words are not single terms; else undefined. */
export function bagIn(collection: CollectionWords, text: string): KeywordQuery | undefined {
  const { synonyms } = collection;
  return synonyms !== undefined || queryAnalysersOf(collection) !== undefined
    ? wholeBag(text)
    : bagOfWords(analyserOf(collection), text);
}

/** What a query in parts looks for in a collection. */
export function draftIn(collection: CollectionWords, keywords: KeywordQuery): KeywordDraft {
  const analysers = queryAnalysersOf(collection);
  if (analysers !== undefined) return analysedDraft(keywords, analysers);
  const analyser = analyserOf(collection);
  return keywordDraft(keywords, analyser, synonymsOf(collection.synonyms, analyser));
}
