import { ROWS_MAX, tooMany, tooMuchText } from '../parser-limits';
import type { DocumentRow } from '../parsed-document';
import { emptyFile } from '../parser-limits';

/** A field with this name is the text of its row; the others are its metadata alone. */
const TEXT_FIELD = 'text';
/** Longer values are text alone: metadata is what is filtered by. */
const FIELD_LENGTH_MAX = 1_000;
/** Deeper objects are written as JSON. */
const DEPTH_MAX = 8;

/**
 * The text of rows with named fields. That of a row is its field `text`, if it has one; else each field in a line of
 * its own, `name: value`. Rows are parted by an empty line.
 */
export class RowText {
  readonly rows: DocumentRow[] = [];
  private readonly parts: string[] = [];
  private length = 0;

  constructor(private readonly charactersMax: number) {}

  /** Errors: limit_exceeded. */
  add(fields: Record<string, unknown>): void {
    const own = fields[TEXT_FIELD];
    const isText = typeof own === 'string' && own.trim() !== '';
    const text = (
      isText
        ? own
        : Object.entries(fields)
            .flatMap(([name, value]) => linesOf(name, value, 0))
            .join('\n')
    )
      .trim()
      .toWellFormed();
    if (text === '') return;
    if (this.rows.length === ROWS_MAX) throw tooMany('rows', ROWS_MAX);
    const between = this.length === 0 ? '' : '\n\n';
    const start = this.length + between.length;
    this.length = start + text.length;
    if (this.length > this.charactersMax) throw tooMuchText(this.charactersMax);
    this.parts.push(between, text);
    const kept = Object.entries(fields).filter(([name, value]) => !(isText && name === TEXT_FIELD) && isKept(value));
    this.rows.push({ start, end: this.length, fields: Object.fromEntries(kept) });
  }

  /** Errors: invalid_parameter where no row has a text. */
  end(): { text: string; rows: DocumentRow[] } {
    if (this.rows.length === 0) throw emptyFile();
    return { text: this.parts.join(''), rows: this.rows };
  }
}

function isKept(value: unknown): boolean {
  if (value === null || value === '') return false;
  if (typeof value === 'string') return value.length <= FIELD_LENGTH_MAX;
  return typeof value !== 'object' || JSON.stringify(value).length <= FIELD_LENGTH_MAX;
}

/** A field in lines; those of an object are named by their path. */
function linesOf(name: string, value: unknown, depth: number): string[] {
  if (value === null || value === undefined || value === '') return [];
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return [`${name}: ${value.join(', ')}`];
  if (typeof value === 'object' && !Array.isArray(value) && depth < DEPTH_MAX)
    return Object.entries(value).flatMap(([inner, one]) => linesOf(`${name}.${inner}`, one, depth + 1));
  return [`${name}: ${typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean)}`];
}
