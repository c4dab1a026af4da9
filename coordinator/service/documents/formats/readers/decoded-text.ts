import { TextDecoder } from 'node:util';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { ENCODING_HEAD_BYTES, encodingHint, hasNulsOfUtf16 } from '../../encoding-hint';
import { emptyFile, tooMuchText } from '../parser-limits';

/** Most bytes of one UTF-16 code unit in UTF-8. */
const BYTES_PER_UNIT_MAX = 3;

/**
 * A text in UTF-8 with line feeds at its ends of lines, without a byte order mark. Errors: invalid_parameter that tells
 * the encoding which it seems to have, or that there is no text; limit_exceeded.
 */
export function textOfUtf8(bytes: Buffer, charactersMax: number): string {
  if (bytes.length > BYTES_PER_UNIT_MAX * charactersMax) throw tooMuchText(charactersMax);
  const head = bytes.subarray(0, ENCODING_HEAD_BYTES);
  if (hasNulsOfUtf16(head)) throw notUtf8(head);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw notUtf8(head, { cause });
  }
  return withLineFeeds(text, charactersMax);
}

/** Errors: invalid_parameter where nothing but white space is left; limit_exceeded. */
export function withLineFeeds(text: string, charactersMax: number): string {
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  if (lines.length > charactersMax) throw tooMuchText(charactersMax);
  if (!/\S/.test(lines)) throw emptyFile();
  return lines;
}

function notUtf8(head: Buffer, options?: ErrorOptions): QuiverError {
  return new QuiverError('invalid_parameter', `The file is not valid UTF-8 text; ${encodingHint(head)}`, options);
}
