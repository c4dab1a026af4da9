import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Turns } from '../load/turns';
import { fastPathBody } from '../fast-path/fast-path-request';
import type { BodyMemory } from './body-memory';
import { ClientGone } from './client-gone';

/** Bytes copied in one turn when the pieces of a body are joined: one or two milliseconds of fresh memory. */
const JOINED_BYTES_A_TURN = 2 * 1024 * 1024;

/** Far more than a search's body, which mostly arrives at once. */
const UNWATCHED_BYTES = 64 * 1024;

/** The bound on a body's size, for the error that a client sees. */
export interface BodyBound {
  bytesMax: number;
  /** The setting that it comes from; null: none. */
  setting: string | null;
}

/** The announced length of a request's body: a number of bytes (0 without a body), or `chunked`. */
export function announcedLength(request: IncomingMessage): number | 'chunked' {
  if (request.headers['transfer-encoding'] !== undefined) return 'chunked';
  return Number(request.headers['content-length'] ?? 0);
}

export function bodyTooLarge({ bytesMax, setting }: BodyBound): QuiverError {
  return new QuiverError(
    'limit_exceeded',
    `body exceeds the maximum of ${bytesMax} bytes${setting === null ? '' : ` (${setting})`}`,
  );
}

export function bodyStalled(stallTimeoutMs: number): QuiverError {
  return new QuiverError(
    'invalid_parameter',
    `the body stopped coming: nothing of it arrived for ${stallTimeoutMs} ms (STALL_TIMEOUT_MS)`,
  );
}

export interface ReadBodyOptions {
  bound: BodyBound;
  /** Called for every piece when it arrives; may refuse it by throwing. */
  grown: (bytes: number) => void;
  /**
   * Longest time without a byte, in milliseconds. Over HTTP/1.1, a body of up to 64 KiB has the server's time for a
   * whole request instead.
   */
  stallTimeoutMs: number;
  turns: Turns;
  /**
   * Where large bodies of an announced length go, to be given back by whoever gets them. Default: each has memory of
   * its own.
   */
  memory?: BodyMemory | undefined;
}

/**
 * Reads a whole request body, at once if it has arrived, of at most `bound.bytesMax` bytes, both as sent and as
 * unpacked (Content-Encoding gzip).
 *
 * Errors: limit_exceeded; invalid_parameter for another encoding, broken gzip or a body that stops coming; ClientGone.
 * After an error the rest of the body is unread; it is up to the caller.
 */
export function readBody(request: IncomingMessage, options: ReadBodyOptions): Buffer | Promise<Buffer> {
  const { bound } = options;
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding !== 'identity' && encoding !== 'gzip') {
    throw new QuiverError(
      'invalid_parameter',
      `content-encoding ${JSON.stringify(encoding.slice(0, 40))} is not supported: use gzip or none`,
    );
  }
  const announced = announcedLength(request);
  if (announced !== 'chunked' && announced > bound.bytesMax) throw bodyTooLarge(bound);
  if (request.destroyed) throw new ClientGone();

  const whole = fastPathBody(request);
  if (whole !== null) {
    options.grown(whole.length);
    return whole;
  }
  const { memory } = options;
  if (
    memory !== undefined &&
    encoding === 'identity' &&
    request.httpVersionMajor === 1 &&
    announced !== 'chunked' &&
    announced > UNWATCHED_BYTES
  ) {
    return readInto(memory, announced, request, options);
  }
  const pieces: Buffer[] = [];
  return readPieces(request, encoding === 'gzip', options, (piece) => pieces.push(piece)).then(() =>
    pieces.length === 1 ? pieces[0] : joined(pieces, options.turns),
  );
}

/** A body of exactly `announced` bytes, as the HTTP parser makes sure. Its pieces are freed as they come. */
async function readInto(
  memory: BodyMemory,
  announced: number,
  request: IncomingMessage,
  options: ReadBodyOptions,
): Promise<Buffer> {
  const lent = memory.take(announced);
  const body = Buffer.from(lent, 0, announced);
  let at = 0;
  try {
    await readPieces(request, false, options, (piece) => {
      at += piece.copy(body, at);
      memory.discard(piece);
    });
  } catch (error) {
    memory.give(lent);
    throw error;
  }
  return body.subarray(0, at);
}

/** Gives all pieces of a body to `keep`, which may change them. */
function readPieces(
  request: IncomingMessage,
  isPacked: boolean,
  options: ReadBodyOptions,
  keep: (piece: Buffer) => void,
): Promise<void> {
  const { bound, grown, stallTimeoutMs } = options;
  return new Promise((resolve, reject) => {
    const gunzip = isPacked ? createGunzip() : null;
    const source = gunzip === null ? request : request.pipe(gunzip);
    let size = 0;
    let sent = 0;

    const finish = (): void => {
      if (stall !== null) clearTimeout(stall);
      source.off('data', take);
      source.off('end', complete);
      request.off('close', hungUp);
      if (gunzip !== null) {
        request.off('data', countSent);
        request.unpipe(gunzip);
        gunzip.destroy();
      }
    };
    const refuse = (error: unknown): void => {
      finish();
      reject(error);
    };
    const take = (piece: Buffer): void => {
      size += piece.length;
      if (size > bound.bytesMax) return refuse(bodyTooLarge(bound));
      try {
        grown(piece.length);
      } catch (error) {
        return refuse(error);
      }
      keep(piece);
      stall?.refresh();
    };
    // Counts the bytes sent, because data that unpacks to nothing could otherwise go on without end.
    const countSent = (piece: Buffer): void => {
      sent += piece.length;
      if (sent > bound.bytesMax) refuse(bodyTooLarge(bound));
      else stall?.refresh();
    };
    const complete = (): void => {
      finish();
      resolve();
    };
    const hungUp = (): void => {
      // A packed body ends when its unpacking ends, which may be after the request itself.
      if (!request.readableEnded) refuse(new ClientGone());
    };
    const stall = isSmall(request) ? null : setTimeout(() => refuse(bodyStalled(stallTimeoutMs)), stallTimeoutMs);
    source.on('data', take);
    source.on('end', complete);
    // `close` follows, whatever ended the request early; the error itself adds nothing.
    request.on('error', () => undefined);
    request.on('close', hungUp);
    if (gunzip !== null) {
      request.on('data', countSent);
      gunzip.on('error', () => refuse(new QuiverError('invalid_parameter', 'body is not valid gzip')));
    }
  });
}

/**
 * Whether the announced body is too small to need a timer of its own: over HTTP/1.1, the server's time for a whole
 * request bounds it, too.
 */
function isSmall(request: IncomingMessage): boolean {
  if (request.httpVersionMajor > 1) return false;
  const announced = announcedLength(request);
  return announced !== 'chunked' && announced <= UNWATCHED_BYTES;
}

/**
 * Joins the pieces. For a large body it does so in turns, because copying it blocks the thread for tens of
 * milliseconds.
 */
async function joined(pieces: readonly Buffer[], turns: Turns): Promise<Buffer> {
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (size <= JOINED_BYTES_A_TURN) return Buffer.concat(pieces, size);
  const whole = Buffer.allocUnsafeSlow(size);
  let at = 0;
  let copied = 0;
  for (const piece of pieces) {
    at += piece.copy(whole, at);
    copied += piece.length;
    if (copied < JOINED_BYTES_A_TURN) continue;
    copied = 0;
    await turns.next();
  }
  return whole;
}
