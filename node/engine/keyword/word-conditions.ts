import type { JsonObject, JsonValue, WordsCondition } from '../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import { type Analyser, queryTerms } from '../../../shared/base/text/analyser';
import { keywordText } from './keyword-text';

/** The terms of the conditions in use. */
const known = new WeakMap<WordsCondition, { analyser: Analyser; terms: string[] }>();

/** The distinct terms that a condition looks for. */
export function termsOfWords(condition: WordsCondition, analyser: Analyser): readonly string[] {
  const found = known.get(condition);
  if (found?.analyser === analyser) return found.terms;
  const terms = queryTerms(analyser, condition.query);
  known.set(condition, { analyser, terms });
  return terms;
}

/** Whether an item has the words: what a condition means. `text`: of the item; not asked for with paths. */
export function itemHasWords(
  condition: WordsCondition,
  analyser: Analyser,
  { text, metadata }: { text: string | null; metadata: JsonObject },
): boolean {
  const wanted = termsOfWords(condition, analyser);
  if (wanted.length === 0) return false;
  const { paths } = condition;
  const searched = paths === undefined ? keywordText(text, metadata) : keywordText(null, membersAt(paths, metadata));
  const terms = new Set(analyser.terms(searched));
  const isIn = (term: string): boolean => terms.has(term);
  return condition.match === 'any' ? wanted.some(isIn) : wanted.every(isIn);
}

function membersAt(paths: readonly string[], metadata: JsonObject): JsonObject {
  const members = paths.map((path, i): [string, JsonValue] => [String(i), lookUpPath(metadata, path) ?? null]);
  return Object.fromEntries(members);
}
