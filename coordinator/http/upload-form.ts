import busboy from 'busboy';
import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import type { z } from 'zod';
import { QuiverError } from '../../shared/errors/quiver-error';
import { ClientGone } from './body/read-body';
import { uploadFields } from './schema/document-schemas';
import { validate } from './schema/issue';

/** A form here has three fields; the rest is room for what clients add, and bounds what they may cost. */
const FORM_BOUNDS = { fields: 32, fieldSize: 4096, fieldNameSize: 256, parts: 40, headerPairs: 32 };

export interface UploadForm {
  fields: z.output<typeof uploadFields>;
  file: {
    /** The last part of the name that the client gave; "" without one. */
    name: string;
    content: AsyncIterable<Buffer>;
  };
}

/**
 * Reads an upload form, its fields in any order. The file is held in memory, at most `uploadBytesMax` bytes of it, until
 * the form is over: only then is it known that no field is wrong, and a refused form must store nothing.
 *
 * Errors: schema_violation for a missing field or another kind of body; limit_exceeded for a larger file; ClientGone.
 * After an error the rest of the body is unread.
 */
export async function readUploadForm(request: IncomingMessage, limits: { uploadBytesMax: number }): Promise<UploadForm> {
  const { uploadBytesMax } = limits;
  const fields: Record<string, string> = Object.create(null);
  let fileName: string | null = null;
  const pieces: Buffer[] = [];

  const parser = openParser(request);
  await new Promise<void>((resolve, reject) => {
    // Of two the caller means both, or is not sure which: neither may be dropped in silence.
    const refuseTwice = (name: string) => reject(new QuiverError('schema_violation', `${name} is given twice: send one`));
    parser.on('field', (name, value) => {
      if (name in fields && name in uploadFields.shape) refuseTwice(name);
      fields[name] = value;
    });
    parser.on('file', (name, stream, info) => {
      // The parser reports the error of a part itself.
      stream.on('error', () => undefined);
      if (name !== 'file' || fileName !== null) {
        if (name === 'file') refuseTwice(name);
        stream.resume();
        return;
      }
      fileName = info.filename ?? '';
      let size = 0;
      stream.on('data', (piece: Buffer) => {
        size += piece.length;
        if (size <= uploadBytesMax) pieces.push(piece);
        else reject(new QuiverError('limit_exceeded', `file exceeds the maximum of ${uploadBytesMax} bytes (MAX_UPLOAD_BYTES)`));
      });
    });
    parser.on('close', resolve);
    parser.on('error', (error) => reject(new QuiverError('schema_violation', `body is not a valid form: ${(error as Error).message}`)));
    parser.on('partsLimit', () => reject(new QuiverError('schema_violation', `body has more than ${FORM_BOUNDS.parts} parts`)));
    parser.on('fieldsLimit', () => reject(new QuiverError('schema_violation', `body has more than ${FORM_BOUNDS.fields} fields`)));
    request.on('close', () => {
      if (!request.complete) reject(new ClientGone());
    });
    request.pipe(parser);
  }).catch((error: unknown) => {
    request.unpipe(parser);
    parser.destroy();
    throw error;
  });

  const checked = validate(uploadFields, fields, 'body');
  if (fileName === null) {
    throw new QuiverError('schema_violation', fields.file === undefined ? 'file is required' : 'file must be a file, with a file name');
  }
  return { fields: checked, file: { name: fileName, content: inOrder(pieces) } };
}

function openParser(request: IncomingMessage): busboy.Busboy & Writable {
  if (request.destroyed) throw new ClientGone();
  if (request.headers['content-encoding'] !== undefined && request.headers['content-encoding'] !== 'identity') {
    throw new QuiverError('invalid_parameter', 'content-encoding is not supported for forms');
  }
  if (!/^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')) {
    throw new QuiverError('schema_violation', 'body must be a form of the type multipart/form-data');
  }
  try {
    return busboy({ headers: request.headers, limits: FORM_BOUNDS, defParamCharset: 'utf8' });
  } catch (error) {
    throw new QuiverError('schema_violation', `body is not a valid form: ${(error as Error).message}`);
  }
}

async function* inOrder(pieces: Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}
