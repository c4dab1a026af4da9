import { join } from 'node:path';
import {
  DocumentParser,
  type DocumentParserOptions,
} from '../../../coordinator/service/documents/formats/document-parser';
import type { ParserLimits } from '../../../coordinator/service/documents/formats/parser-limits';

/** The compiled program of parsers, for tests that run from the sources. */
export const PARSER_PROGRAM = join(__dirname, '../../../dist/programs/parser-program.js');

/** A parser that a test closes; its limits are those of a service unless they are given. */
export function openDocumentParser({
  limits,
  ...options
}: Partial<Omit<DocumentParserOptions, 'limits'>> & { limits?: Partial<ParserLimits> } = {}): DocumentParser {
  return new DocumentParser({
    limits: { memoryMiB: 512, timeMs: 120_000, bytesMax: 1 << 28, charactersMax: 1 << 25, ...limits },
    log: { info: () => undefined, warn: () => undefined },
    program: PARSER_PROGRAM,
    ...options,
  });
}
