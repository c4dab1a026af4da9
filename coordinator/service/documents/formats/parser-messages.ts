import type { ErrorKind } from '../../../../shared/base/errors/quiver-error';
import type { DocumentRow, DocumentType, ParsedDocument } from './parsed-document';

/** What the service says to the process of parsers: a file, in parts. */
export type ParserRequest =
  | { say: 'begin'; type: DocumentType; bytesMax: number; charactersMax: number }
  | { say: 'part'; bytes: Uint8Array }
  | { say: 'end' };

/** What that answers to a file: its text and rows in parts, then the rest; or why not. */
export type ParserReply =
  | { say: 'text'; text: string }
  | { say: 'rows'; rows: DocumentRow[] }
  | { say: 'done'; document: Omit<ParsedDocument, 'text' | 'rows'> }
  | { say: 'failed'; kind: ErrorKind; message: string };

/** What the watching thread of that process says on the standard error before it ends it. */
export const MEMORY_WORD = 'parser: memory';
export const ORPHAN_WORD = 'parser: orphan';

/** The settings of the process. */
export interface ParserProcessSettings {
  memoryMiB: number;
}
