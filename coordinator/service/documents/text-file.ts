import { TextDecoder } from 'node:util';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { ENCODING_HEAD_BYTES, encodingHint, hasNulsOfUtf16 } from './encoding-hint';

/** Longest stored file name in UTF-16 code units: what file systems allow. */
const FILE_NAME_LENGTH_MAX = 255;

/** Accepts only names that end in `.txt`, in upper or lower case. Errors: QuiverError `invalid_parameter`. */
export function checkFileType(name: string): void {
  if (!/\.txt$/i.test(name.trim())) throw new QuiverError('invalid_parameter', 'Only .txt files are supported');
}

/** A file's name as data: no control characters, well-formed Unicode, at most 255 code units. */
export function storedFileName(name: string): string {
  const printable = name.replace(/[\p{Cc}\p{Cs}]/gu, '').trim();
  return printable.slice(0, FILE_NAME_LENGTH_MAX).replace(/\p{Cs}$/u, '');
}

/**
 * The text of a UTF-8 file as it arrives, without a byte order mark. Errors: QuiverError `limit_exceeded` as soon as
 * there are more than `bytesMax` bytes, `invalid_parameter` at the first byte that is not UTF-8, or where it begins as
 * UTF-16 of Latin letters does, which is UTF-8 of letters with NULs between them.
 */
export async function* readTextFile(content: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  let head = Buffer.alloc(0);
  for await (const part of content) {
    bytes += part.length;
    if (head.length < ENCODING_HEAD_BYTES) {
      head = Buffer.concat([head, part.subarray(0, ENCODING_HEAD_BYTES - head.length)]);
      if (head.length === ENCODING_HEAD_BYTES) mustNotBeUtf16(head);
    }
    if (bytes > bytesMax) {
      throw new QuiverError('limit_exceeded', `The file is larger than MAX_UPLOAD_BYTES (${bytesMax} bytes)`);
    }
    yield decode(() => decoder.decode(part, { stream: true }), head);
  }
  if (head.length < ENCODING_HEAD_BYTES) mustNotBeUtf16(head);
  yield decode(() => decoder.decode(), head);
}

function mustNotBeUtf16(head: Buffer): void {
  if (hasNulsOfUtf16(head)) throw notUtf8(head);
}

function decode(read: () => string, head: Buffer): string {
  try {
    return read();
  } catch (cause) {
    throw notUtf8(head, { cause });
  }
}

function notUtf8(head: Buffer, options?: ErrorOptions): QuiverError {
  return new QuiverError('invalid_parameter', `The file is not valid UTF-8 text; ${encodingHint(head)}`, options);
}
