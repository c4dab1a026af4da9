import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';

/**
 * The text of an item for keyword search: its text, then every string value of its metadata at any depth in the order
 * of the JSON, one per line; keys are not included. A metadata string equal to the text counts once. The chunks of a
 * document carry their text in both places, and counting it twice would distort their BM25 lengths.
 */
export function keywordText(text: string | null, metadata: JsonObject): string {
  return keywordLines(text, metadata).join('\n');
}

/** Its lines: no phrase goes from one to the next. */
export function keywordLines(text: string | null, metadata: JsonObject): string[] {
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
