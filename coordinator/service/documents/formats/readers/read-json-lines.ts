import { brokenFile } from '../parser-limits';
import type { ParsedDocument } from '../parsed-document';
import { textOfUtf8 } from './decoded-text';
import { RowText } from './row-text';

/**
 * JSON lines: each line that is not blank is an object, and a row. Errors: invalid_parameter with the number of the
 * line; limit_exceeded.
 */
export function readJsonLines(bytes: Buffer, { charactersMax }: { charactersMax: number }): ParsedDocument {
  const source = textOfUtf8(bytes, charactersMax);
  const rowText = new RowText(charactersMax);
  let number = 0;
  for (let at = 0; at < source.length;) {
    const end = source.indexOf('\n', at);
    const line = source.slice(at, end < 0 ? source.length : end);
    at = end < 0 ? source.length : end + 1;
    number += 1;
    if (line.trim() === '') continue;
    const value = objectOf(line, number);
    try {
      rowText.add(value);
    } catch (error) {
      // Of values within values without an end.
      if (error instanceof RangeError) throw brokenFile('JSON lines', `line ${number} is nested too deep`);
      throw error;
    }
  }
  return { type: 'jsonl', pages: [], headings: [], ...rowText.end() };
}

function objectOf(line: string, number: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    const why = error instanceof RangeError ? 'is nested too deep' : 'is no JSON';
    throw brokenFile('JSON lines', `line ${number} ${why}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw brokenFile('JSON lines', `line ${number} is no object`);
  return value as Record<string, unknown>;
}
