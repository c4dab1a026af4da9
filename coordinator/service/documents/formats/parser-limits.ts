import { QuiverError } from '../../../../shared/base/errors/quiver-error';

/** What one document may take of the process that reads it. */
export interface ParserLimits {
  /** Resident memory of the process in MiB. */
  memoryMiB: number;
  /** Longest time for a document, from its first byte to its text. */
  timeMs: number;
  /** Largest file. */
  bytesMax: number;
  /** Longest text, in UTF-16 code units. */
  charactersMax: number;
}

/** What a text is made of beside its characters: bounds of what a document may have. */
export const HEADINGS_MAX = 100_000;
export const ROWS_MAX = 1_000_000;
export const PAGES_MAX = 100_000;
/** Longer titles are cut. */
export const TITLE_LENGTH_MAX = 300;

export function tooMuchText(charactersMax: number): QuiverError {
  return new QuiverError('limit_exceeded', `The file has more than ${charactersMax} characters of text; divide it`);
}

export function tooMany(what: string, most: number): QuiverError {
  return new QuiverError('limit_exceeded', `The file has more than ${most} ${what}; divide it`);
}

/** A file that can't be read, and why; the reason begins in lower case. */
export function brokenFile(what: string, why: string): QuiverError {
  return new QuiverError('invalid_parameter', `The ${what} file can't be read: ${why}`);
}

export function emptyFile(): QuiverError {
  return new QuiverError('invalid_parameter', 'The file is empty');
}
