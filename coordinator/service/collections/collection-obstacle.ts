import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Feature } from '../../../shared/base/process/member-version';
import { haveAnalysers, type KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import { isUnspaced } from '../../../shared/base/text/language';
import type { NewCollection } from '../service';

/** Why not every member knows a feature at present; null: all do. `what`: what they can do who know it. */
export type CollectionObstacle = (feature: Feature, what: string) => string | null;

/** Errors: unavailable when a member does not know how keyword fields are changed. */
export function checkReindex(fields: KeywordFields | null, obstacle: CollectionObstacle): void {
  const reason = obstacle('reindexes', 'keyword_fields can be changed') ?? analysersObstacle(fields, obstacle);
  if (reason !== null) throw new QuiverError('unavailable', reason);
}

function analysersObstacle(fields: KeywordFields | null | undefined, obstacle: CollectionObstacle): string | null {
  return haveAnalysers(fields) ? obstacle('field-analysers', 'keyword_fields can have an analyser') : null;
}

/** Who does not know templates makes vectors of texts alone, also where the collection's are of more. */
export function templateObstacle(embedding: NewCollection['embedding'], obstacle: CollectionObstacle): string | null {
  return embedding?.template === undefined ? null : obstacle('passage-templates', 'vectors can be made of a template');
}

/** Errors: unavailable when a member does not know synonyms, and would not keep them. */
export function checkSynonyms(synonyms: NewCollection['synonyms'] | null, obstacle: CollectionObstacle): void {
  const reason =
    synonyms === undefined || synonyms === null ? null : obstacle('synonyms', 'collections can have synonyms');
  if (reason !== null) throw new QuiverError('unavailable', reason);
}

/** The same of stop words. */
export function checkStopWords(stopWords: NewCollection['stopWords'] | null, obstacle: CollectionObstacle): void {
  const reason =
    stopWords === undefined || stopWords === null ? null : obstacle('stop-words', 'collections can have stop_words');
  if (reason !== null) throw new QuiverError('unavailable', reason);
}

/** Errors: unavailable when a member does not know what a collection has that is made or restored. */
export function checkFeatures(
  {
    keywordFields,
    language,
    synonyms,
    stopWords,
    embedding,
  }: Pick<NewCollection, 'keywordFields' | 'language' | 'synonyms' | 'stopWords' | 'embedding'>,
  obstacle: CollectionObstacle,
): void {
  checkSynonyms(synonyms, obstacle);
  checkStopWords(stopWords, obstacle);
  const reasons = [
    keywordFields === undefined ? null : obstacle('keyword-fields', 'collections can have keyword_fields'),
    analysersObstacle(keywordFields, obstacle),
    embedding === undefined ? null : obstacle('collection-models', 'collections can have an embedding'),
    templateObstacle(embedding, obstacle),
    isUnspaced(language) ? obstacle('unspaced-languages', `their language can be ${language}`) : null,
  ];
  const reason = reasons.find((one) => one !== null);
  if (reason !== undefined) throw new QuiverError('unavailable', reason as string);
}
