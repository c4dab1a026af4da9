import type { JsonObject, JsonValue, WordsCondition } from '../../../shared/contract/filter/filter';
import { fieldOfPath, type KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import { type Analyser, queryTerms } from '../../../shared/base/text/analyser';
import { type VariedWords, variantTest, variedWords } from '../../../shared/base/text/word-variants';
import { hasPhrase, type Phrase, phraseOf } from '../../../shared/base/text/phrase';
import { resultOf } from '../../../shared/base/time/work-slices';
import type { KeywordIndex } from './keyword-index';
import { analyserOfField, fieldsCutBy, keywordLines } from './keyword-text';

/** The terms of the conditions in use. */
const known = new WeakMap<WordsCondition, { analyser: Analyser; terms: string[] }>();

/** The distinct terms that a condition looks for; of a phrase, those of which all must be there. */
export function termsOfWords(condition: WordsCondition, analyser: Analyser): readonly string[] {
  const found = known.get(condition);
  if (found?.analyser === analyser) return found.terms;
  const terms = queryTerms(analyser, condition.query);
  known.set(condition, { analyser, terms });
  return terms;
}

const varied = new WeakMap<WordsCondition, { analyser: Analyser; words: SoughtVariants | null }>();

/** Words of which the last one stands for others. `fits`: whether it stands for a term. */
export interface SoughtVariants extends VariedWords {
  fits: (term: string) => boolean;
}

/** The words of a condition with a sign; null: it has none, so nothing has them. */
export function variantsOfWords(condition: WordsCondition, analyser: Analyser): SoughtVariants | null {
  const found = varied.get(condition);
  if (found?.analyser === analyser) return found.words;
  const sought = variedWords(analyser, condition.query, condition.stands!);
  const words = sought === null ? null : { ...sought, fits: variantTest(sought) };
  varied.set(condition, { analyser, words });
  return words;
}

const phrases = new WeakMap<WordsCondition, { analyser: Analyser; phrase: Phrase }>();

function phraseOfWords(condition: WordsCondition, analyser: Analyser): Phrase {
  const found = phrases.get(condition);
  if (found?.analyser === analyser) return found.phrase;
  const phrase = phraseOf(analyser, condition.query, condition.near ?? 0);
  phrases.set(condition, { analyser, phrase });
  return phrase;
}

/** Whether an item has the words: what a condition means. `text`: of the item; not asked for with paths. */
export function itemHasWords(
  condition: WordsCondition,
  { analyser: own, fields }: Pick<KeywordIndex, 'analyser' | 'fields'>,
  { text, metadata }: { text: string | null; metadata: JsonObject },
): boolean {
  const analyser = analyserOfField(condition, own);
  const wanted = termsOfWords(condition, analyser);
  if (wanted.length === 0) return false;
  const { paths } = condition;
  const lines =
    paths === undefined
      ? keywordLines(text, metadata, fieldsCutBy(condition.analyser, fields))
      : keywordLines(null, membersAt(pathsCutBy(condition.analyser, paths, fields), metadata));
  if (condition.match === 'phrase') {
    const phrase = phraseOfWords(condition, analyser);
    return lines.some((line) => resultOf(hasPhrase(analyser, phrase, line)));
  }
  const terms = new Set(analyser.terms(lines.join('\n')));
  if (condition.stands !== undefined) {
    const sought = variantsOfWords(condition, analyser);
    return sought !== null && sought.others.every((term) => terms.has(term)) && [...terms].some(sought.fits);
  }
  const isIn = (term: string): boolean => terms.has(term);
  return condition.match === 'any' ? wanted.some(isIn) : wanted.every(isIn);
}

/** What is in no field is cut as the language of the collection has it. */
function pathsCutBy(
  name: WordsCondition['analyser'],
  paths: readonly string[],
  fields: KeywordFields | undefined,
): readonly string[] {
  return paths.filter((path) => fieldOfPath(fields, path)?.analyser === name);
}

function membersAt(paths: readonly string[], metadata: JsonObject): JsonObject {
  const members = paths.map((path, i): [string, JsonValue] => [String(i), lookUpPath(metadata, path) ?? null]);
  return Object.fromEntries(members);
}
