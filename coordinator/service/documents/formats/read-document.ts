import { isQuiverError, type QuiverError } from '../../../../shared/base/errors/quiver-error';
import { brokenFile } from './parser-limits';
import type { DocumentType, ParsedDocument } from './parsed-document';
import { readCsv } from './readers/read-csv';
import { readDocx } from './readers/read-docx';
import { readHtml } from './readers/read-html';
import { readJsonLines } from './readers/read-json-lines';
import { readMarkdown } from './readers/read-markdown';
import { readPdf } from './readers/read-pdf';
import { readText } from './readers/read-text';

type Reader = (bytes: Buffer, limits: { charactersMax: number }) => ParsedDocument | Promise<ParsedDocument>;

const READERS: Readonly<Record<DocumentType, { name: string; read: Reader }>> = {
  txt: { name: 'text', read: readText },
  md: { name: 'Markdown', read: readMarkdown },
  html: { name: 'HTML', read: readHtml },
  pdf: { name: 'PDF', read: readPdf },
  docx: { name: 'DOCX', read: readDocx },
  csv: { name: 'CSV', read: readCsv },
  jsonl: { name: 'JSON lines', read: readJsonLines },
};

/** Memory that can't be had, or a text longer than an engine's longest. */
const TOO_LARGE = new Set(['ERR_STRING_TOO_LONG', 'ERR_BUFFER_TOO_LARGE', 'ERR_MEMORY_ALLOCATION_FAILED']);

/**
 * Reads a document in this thread. Errors: invalid_parameter where it is broken, encrypted, empty or without text;
 * limit_exceeded where it has more than the limits.
 */
export async function readDocument(
  bytes: Buffer,
  type: DocumentType,
  limits: { charactersMax: number },
): Promise<ParsedDocument> {
  const { name, read } = READERS[type];
  try {
    return await read(bytes, limits);
  } catch (error) {
    throw isQuiverError(error) ? error : asRefusal(name, error);
  }
}

/** A parser's own error is about the file. */
function asRefusal(name: string, error: unknown): QuiverError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof RangeError && code !== undefined && TOO_LARGE.has(code))
    return brokenFile(name, 'it is too large');
  if (error instanceof RangeError && /call stack/.test(message)) return brokenFile(name, 'it is nested too deep');
  const [line] = String(message ?? error).split('\n', 1);
  return brokenFile(name, line.slice(0, 200));
}
