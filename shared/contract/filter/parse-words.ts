import { QuiverError } from '../../base/errors/quiver-error';
import { defaultAnalyser, QUERY_TERMS_MAX } from '../../base/text/analyser';
import type { WordsCondition } from './filter';

/** Fields in which words may be looked for: the texts of each are read for every item that has the words at all. */
const FIELDS_MAX = 16;
/** As for other texts of a filter. */
const FIELD_CHARACTERS_MAX = 1_024;
/** Of a member that there is not. */
const SHOWN_CHARACTERS_MAX = 80;

/** More than a person writes, and little to analyse. */
const QUERY_CHARACTERS_MAX = 16_384;

const FORM = '{"query": "words", "match": "any" or "all", "fields": ["title", …]}';

/**
 * The condition of `$text`, and how many different words it has. Errors: schema_violation, also for a query without a
 * word; limit_exceeded for one of more words than a keyword search looks for.
 */
export function wordsOf(json: unknown, place: string): { condition: WordsCondition; count: number } {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw refusal(`${place} must be ${FORM}`);
  const { query, match = 'any', fields, ...others } = json as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw refusal(`${place} must be ${FORM}, without ${unknown.slice(0, SHOWN_CHARACTERS_MAX)}`);
  if (typeof query !== 'string') throw refusal(`${place}.query must be a string`);
  if (query.length > QUERY_CHARACTERS_MAX)
    throw refusal(`${place}.query must have at most ${QUERY_CHARACTERS_MAX} characters`);
  if (match !== 'any' && match !== 'all') throw refusal(`${place}.match must be "any" or "all"`);
  const condition: WordsCondition = { type: 'words', query, match };
  if (fields !== undefined) condition.paths = pathsOf(fields, `${place}.fields`);
  return { condition, count: wordsIn(query, place) };
}

/** The different words, as they are without a language. */
function wordsIn(query: string, place: string): number {
  const { size } = new Set(defaultAnalyser.terms(query));
  if (size === 0) throw refusal(`${place}.query must have a word to look for`);
  if (size > QUERY_TERMS_MAX)
    throw new QuiverError('limit_exceeded', `${place}.query must have at most ${QUERY_TERMS_MAX} different words`);
  return size;
}

function pathsOf(fields: unknown, place: string): string[] {
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > FIELDS_MAX)
    throw refusal(`${place} must be an array of 1 to ${FIELDS_MAX} fields of the metadata`);
  return fields.map((field: unknown, i) => {
    if (typeof field !== 'string' || field === '' || field.length > FIELD_CHARACTERS_MAX)
      throw refusal(
        `${place}[${i}] must be a field of the metadata, a string of 1 to ${FIELD_CHARACTERS_MAX} characters`,
      );
    if (field === 'text')
      throw refusal(
        `${place}[${i}]: the text of an item can't be asked alone; fields of the metadata can, and without fields all texts are`,
      );
    return field;
  });
}

function refusal(message: string): QuiverError {
  return new QuiverError('schema_violation', message);
}
