import busboy from 'busboy';
import type { IncomingMessage } from 'node:http';
import type { Readable, Writable } from 'node:stream';
import type { z } from 'zod';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { ClientGone } from '../body/client-gone';
import { announcedLength, bodyStalled } from '../body/read-body';
import { isStrict } from './request-query';
import type { RequestWarnings } from './request-warnings';
import { IgnoredFields, STRICT_FIELD } from '../fields/ignored-fields';
import { flatFields } from '../fields/request-fields';
import { validate } from '../fields/issue';
import { SpooledFile } from './spooled-file';

/** A form has few fields. The rest is room for what clients add, and bounds what that may cost. */
const FORM_BOUNDS = { fields: 32, fieldNameSize: 256, parts: 40, headerPairs: 32 };
const FIELD_BYTES = 4096;

/** How much of a form's length may be other than its file: fields, headers and boundaries. */
const FORM_FRAME_BYTES = 1024 * 1024;

/**
 * Once the whole form has arrived, its file must make progress within this time; otherwise its end is missing. busboy
 * does not report a part that follows the end of the form and is not terminated: it waits for ever.
 */
const ENDED_WITHIN_MS = 5_000;

/** What an upload may hold in memory while it runs: data that waits, and a batch of chunks with their vectors. */
export const UPLOAD_HELD_BYTES = 4 * 1024 * 1024;

/** What a form may have: its fields, and with its file for whoever looks for those that are not known. */
export interface FormShape<Fields extends z.ZodObject> {
  fields: Fields;
  form: z.ZodObject;
  /** Of a field, at most; default: 4 KiB. */
  fieldBytes?: number;
}

/** A form whose file may still be arriving. It must be closed in any case. */
export interface UploadForm<Fields extends z.ZodObject> {
  file: {
    /** The last part of the name that the client gave; "" without one. */
    name: string;
    /**
     * Ends when the whole form has arrived without a violation. Errors: limit_exceeded, schema_violation, ClientGone,
     * also for a client that disconnects after it has sent everything.
     */
    content: AsyncIterable<Buffer>;
  };
  /** The fields. Until the content is over: those before the file, including collection_name. */
  fields(): z.output<Fields>;
  /** Releases the request, whose rest stays unread, and what is held. */
  close(): Promise<void>;
}

/**
 * Opens an upload form. Resolves as soon as the file begins and its collection is known; if collection_name follows the
 * file, when the form is over. Content that arrives faster than it is read waits in memory, and beyond {@link
 * SpooledFile}'s bound on disk, so a slow reader neither blocks the client nor fills the memory.
 *
 * Fields that are not known are told when the form is over, before the content ends. Errors: schema_violation for a
 * missing field or another kind of body, and where the request is strict for a field that is not known; limit_exceeded
 * for a larger file; invalid_parameter for a form that stops coming; ClientGone.
 */
export async function openUploadForm<Fields extends z.ZodObject>(
  request: IncomingMessage,
  { fields: schema, form: whole, fieldBytes = FIELD_BYTES }: FormShape<Fields>,
  limits: { uploadBytesMax: number; stallTimeoutMs: number },
  warnings: RequestWarnings,
): Promise<UploadForm<Fields>> {
  const { uploadBytesMax, stallTimeoutMs } = limits;
  const announced = announcedLength(request);
  if (announced !== 'chunked' && announced > uploadBytesMax + FORM_FRAME_BYTES) throw fileTooLarge(uploadBytesMax);
  const parser = openParser(request, fieldBytes);
  const spool = new SpooledFile();
  const given: Record<string, string> = Object.create(null);
  let fields: z.output<Fields> | null = null;
  let fileName: string | null = null;
  let spooled: Promise<void> = Promise.resolve();
  let fail: (error: unknown) => void = () => undefined;
  const clientGone = (): void => fail(new ClientGone());
  const stall = setTimeout(() => fail(bodyStalled(stallTimeoutMs)), stallTimeoutMs);
  // The whole form has arrived, so a stall from now on is not the client's fault.
  let ending: NodeJS.Timeout | undefined;
  const arrived = (): void => {
    clearTimeout(stall);
    ending = setTimeout(() => fail(invalidForm(new Error('Unexpected end of form'))), ENDED_WITHIN_MS);
  };
  const moved = (): void => void stall.refresh();
  const { socket } = request;
  const close = async (): Promise<void> => {
    clearTimeout(stall);
    clearTimeout(ending);
    request.off('data', moved);
    request.off('end', arrived);
    socket.off('close', clientGone);
    request.unpipe(parser);
    parser.destroy();
    await spool.close();
  };

  const opened = new Promise<void>((resolve, reject) => {
    fail = (error) => {
      spool.fail(error);
      reject(error);
    };
    const check = (next: () => void): void => {
      try {
        fields = validate(schema, given, 'body');
        next();
      } catch (error) {
        fail(error);
      }
    };
    // Given twice, it is unclear which value the client means, so neither may be ignored silently.
    const refuseTwice = (name: string): void =>
      fail(new QuiverError('schema_violation', `${name} is given twice: send one`));
    parser.on('field', (name, value, { valueTruncated }) => {
      if (valueTruncated && name in schema.shape)
        fail(new QuiverError('limit_exceeded', `${name} exceeds the maximum of ${fieldBytes} bytes`));
      if (name in given && name in schema.shape) refuseTwice(name);
      given[name] = value;
    });
    parser.on('file', (name, stream, info) => {
      // The parser itself reports the error of a part.
      stream.on('error', () => undefined);
      if (name !== 'file' || fileName !== null) {
        if (name === 'file') refuseTwice(name);
        else given[name] ??= info.filename ?? '';
        stream.resume();
        return;
      }
      fileName = info.filename ?? '';
      spooled = spoolFile(stream, spool, { bytesMax: uploadBytesMax, moved: () => ending?.refresh() }).catch(
        (error: unknown) => fail(isQuiverError(error) ? error : invalidForm(error)),
      );
      if ('collection_name' in given) check(resolve);
    });
    parser.on('close', () => {
      clearTimeout(ending);
      void spooled.then(() =>
        check(() => {
          lookAtFields(given, whole, warnings);
          if (fileName === null)
            throw new QuiverError(
              'schema_violation',
              given.file === undefined ? 'file is required' : 'file must be a file, with a file name',
            );
          spool.complete();
          resolve();
        }),
      );
    });
    parser.on('error', (error) => fail(invalidForm(error)));
    parser.on('partsLimit', () =>
      fail(new QuiverError('schema_violation', `body has more than ${FORM_BOUNDS.parts} parts`)),
    );
    parser.on('fieldsLimit', () =>
      fail(new QuiverError('schema_violation', `body has more than ${FORM_BOUNDS.fields} fields`)),
    );
    socket.on('close', clientGone);
    request.on('data', moved);
    request.on('end', arrived);
    request.pipe(parser);
  });
  try {
    await opened;
  } catch (error) {
    await close();
    throw error;
  }
  return {
    file: { name: fileName ?? '', content: spool.content() },
    fields: () => fields as z.output<Fields>,
    close,
  };
}

/** Errors: schema_violation where the request is strict, invalid_parameter. */
function lookAtFields(given: Record<string, string>, form: z.ZodObject, warnings: RequestWarnings): void {
  if (STRICT_FIELD in given && isStrict(given[STRICT_FIELD], STRICT_FIELD)) warnings.isStrict = true;
  const ignored = new IgnoredFields();
  ignored.look(given, flatFields(Object.keys(form.shape)));
  ignored.reportTo(warnings);
  warnings.mustBeCertain();
}

async function spoolFile(
  stream: Readable,
  spool: SpooledFile,
  { bytesMax, moved }: { bytesMax: number; moved: () => void },
): Promise<void> {
  let size = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > bytesMax) throw fileTooLarge(bytesMax);
    await spool.append(piece);
    moved();
  }
}

function fileTooLarge(bytesMax: number): QuiverError {
  return new QuiverError('limit_exceeded', `file exceeds the maximum of ${bytesMax} bytes (MAX_UPLOAD_BYTES)`);
}

function openParser(request: IncomingMessage, fieldSize: number): busboy.Busboy & Writable {
  if (request.destroyed) throw new ClientGone();
  if (request.headers['content-encoding'] !== undefined && request.headers['content-encoding'] !== 'identity') {
    throw new QuiverError('invalid_parameter', 'content-encoding is not supported for forms');
  }
  if (!/^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')) {
    throw new QuiverError('schema_violation', 'body must be a form of the type multipart/form-data');
  }
  try {
    return busboy({ headers: request.headers, limits: { ...FORM_BOUNDS, fieldSize }, defParamCharset: 'utf8' });
  } catch (error) {
    throw invalidForm(error);
  }
}

function invalidForm(error: unknown): QuiverError {
  return new QuiverError('schema_violation', `body is not a valid form: ${(error as Error).message}`);
}
