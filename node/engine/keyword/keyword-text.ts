import type { Analyser } from '../../../shared/base/text/analyser';
import { markedAnalyser } from './marked-analyser';
import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import { type KeywordField, type KeywordFields, TEXT_FIELD } from '../../../shared/contract/shard/keyword-fields';

/** A text whose words count as if each stood there `weight` times. */
export interface WeightedText {
  text: string;
  weight: number;
}

/**
 * The text of an item for keyword search: its text, then every string value of its metadata at any depth in the order
 * of the JSON, one per line; keys are not included. A metadata string equal to the text counts once. The chunks of a
 * document carry their text in both places, and counting it twice would distort their BM25 lengths.
 */
export function keywordText(text: string | null, metadata: JsonObject): string {
  return keywordLines(text, metadata).join('\n');
}

/** Its lines: no phrase goes from one to the next. With `fields`, those of these alone, field by field. */
export function keywordLines(text: string | null, metadata: JsonObject, fields?: KeywordFields): string[] {
  return fields === undefined
    ? allLines(text, metadata)
    : fields.flatMap(({ path }) => linesOfField(path, text, metadata));
}

/** What an item is found by: its keyword text, or with `fields` the texts of these. */
export function keywordTexts(
  text: string | null,
  metadata: JsonObject,
  fields: KeywordFields | undefined,
): string | WeightedText[] {
  if (fields === undefined) return keywordText(text, metadata);
  return fields.map(({ path, weight }) => ({ text: linesOfField(path, text, metadata).join('\n'), weight }));
}

/** A line and what cuts it; of a field with its analyser. */
export interface AnalysedLine {
  line: string;
  analyser: Analyser;
}

/** The lines with what cuts them; `own`: what cuts those of fields without an analyser. */
export function analysedLines(
  text: string | null,
  metadata: JsonObject,
  { fields, analyser: own }: { fields?: KeywordFields | undefined; analyser: Analyser },
): AnalysedLine[] {
  if (fields === undefined) return allLines(text, metadata).map((line) => ({ line, analyser: own }));
  return fields.flatMap((field) =>
    linesOfField(field.path, text, metadata).map((line) => ({ line, analyser: analyserOfField(field, own) })),
  );
}

/** What cuts a field. */
export function analyserOfField({ analyser }: Pick<KeywordField, 'analyser'>, own: Analyser): Analyser {
  return analyser === undefined ? own : markedAnalyser(analyser);
}

/** Of fields, those that have an analyser; undefined where all strings are looked in. */
export function fieldsCutBy(
  name: KeywordField['analyser'],
  fields: KeywordFields | undefined,
): KeywordFields | undefined {
  return fields?.filter(({ analyser }) => analyser === name);
}

function linesOfField(path: string, text: string | null, metadata: JsonObject): string[] {
  return path === TEXT_FIELD ? allLines(text, {}) : allLines(null, { value: lookUpPath(metadata, path) ?? null });
}

function allLines(text: string | null, metadata: JsonObject): string[] {
  const lines: string[] = text === null || text === '' ? [] : [text];
  // A stack instead of recursion: metadata may be nested as deeply as their size allows.
  const pending: JsonValue[] = [metadata];
  while (pending.length > 0) {
    const value = pending.pop() as JsonValue;
    if (typeof value === 'string') {
      if (value !== '' && value !== text) lines.push(value);
    } else if (value !== null && typeof value === 'object') {
      const children = Array.isArray(value) ? value : Object.values(value);
      for (let i = children.length - 1; i >= 0; i--) pending.push(children[i]);
    }
  }
  return lines;
}
