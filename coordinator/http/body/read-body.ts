import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import { QuiverError } from '../../../shared/errors/quiver-error';

/** The client hung up before its request was complete: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** How the length of a request's body is announced: a number of bytes, `chunked`, or no body. */
export function announcedLength(request: IncomingMessage): number | 'chunked' {
  if (request.headers['transfer-encoding'] !== undefined) return 'chunked';
  return Number(request.headers['content-length'] ?? 0);
}

export function bodyTooLarge(bytesMax: number): QuiverError {
  return new QuiverError('limit_exceeded', `body exceeds the maximum of ${bytesMax} bytes (MAX_BODY_BYTES)`);
}

/**
 * Reads a request's body whole, at most `bytesMax` bytes as sent and as unpacked (Content-Encoding gzip).
 * `grown` is told of every piece as it arrives and may refuse by throwing.
 *
 * Errors: limit_exceeded; invalid_parameter for another encoding or broken gzip; ClientGone. After an error the rest of
 * the body is unread and left to the caller.
 */
export function readBody(request: IncomingMessage, options: { bytesMax: number; grown: (bytes: number) => void }): Promise<Buffer> {
  const { bytesMax, grown } = options;
  const encoding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding !== 'identity' && encoding !== 'gzip') {
    return Promise.reject(new QuiverError('invalid_parameter', `content-encoding ${JSON.stringify(encoding.slice(0, 40))} is not supported: use gzip or none`));
  }
  const announced = announcedLength(request);
  if (announced !== 'chunked' && announced > bytesMax) return Promise.reject(bodyTooLarge(bytesMax));

  if (request.destroyed) return Promise.reject(new ClientGone());

  return new Promise((resolve, reject) => {
    const gunzip = encoding === 'gzip' ? createGunzip() : null;
    const source = gunzip === null ? request : request.pipe(gunzip);
    const pieces: Buffer[] = [];
    let size = 0;

    const finish = (): void => {
      source.off('data', take);
      source.off('end', complete);
      request.off('close', hungUp);
      if (gunzip !== null) {
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
      if (size > bytesMax) return refuse(bodyTooLarge(bytesMax));
      try {
        grown(piece.length);
      } catch (error) {
        return refuse(error);
      }
      pieces.push(piece);
    };
    const complete = (): void => {
      finish();
      resolve(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, size));
    };
    const hungUp = (): void => {
      // The end of a packed body is its unpacking's, which may come after the request's own.
      if (!request.readableEnded) refuse(new ClientGone());
    };
    source.on('data', take);
    source.on('end', complete);
    // `close` follows whatever ended the request early; the error itself says nothing more.
    request.on('error', () => undefined);
    request.on('close', hungUp);
    gunzip?.on('error', () => refuse(new QuiverError('invalid_parameter', 'body is not valid gzip')));
  });
}
