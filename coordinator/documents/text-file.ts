import { TextDecoder } from 'node:util';
import { QuiverError } from '../../shared/errors/quiver-error';

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
 * there are more than `bytesMax` bytes, `invalid_parameter` at the first byte that is not UTF-8.
 */
export async function* readTextFile(content: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  for await (const part of content) {
    bytes += part.length;
    if (bytes > bytesMax) {
      throw new QuiverError('limit_exceeded', `The file is larger than MAX_UPLOAD_BYTES (${bytesMax} bytes)`);
    }
    yield decode(() => decoder.decode(part, { stream: true }));
  }
  yield decode(() => decoder.decode());
}

function decode(read: () => string): string {
  try {
    return read();
  } catch (cause) {
    throw new QuiverError('invalid_parameter', 'The file is not valid UTF-8 text', { cause });
  }
}
