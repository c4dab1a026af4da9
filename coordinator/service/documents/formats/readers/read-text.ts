import type { ParsedDocument } from '../parsed-document';
import { textOfUtf8 } from './decoded-text';

/** A text as it is. Errors: invalid_parameter; limit_exceeded. */
export function readText(bytes: Buffer, { charactersMax }: { charactersMax: number }): ParsedDocument {
  return { type: 'txt', text: textOfUtf8(bytes, charactersMax), pages: [], headings: [] };
}
