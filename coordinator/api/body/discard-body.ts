import type { IncomingMessage } from 'node:http';

/** How many more bytes of a body are read and dropped, so that a client that is still sending gets its answer. */
export const DISCARDED_BYTES_MAX = 256 * 1024 * 1024;
const DISCARD_TIMEOUT_MS = 15_000;

/**
 * Reads and drops the rest of a body (RFC 9112, 9.6: after an immediate close, a reset may destroy the answer).
 * Resolves when the body is over, the client is gone, or the bounds on bytes and time are reached.
 */
export function discardBody(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let size = 0;
    const finish = (): void => {
      clearTimeout(timer);
      request.off('data', drop);
      request.off('end', finish);
      request.off('close', finish);
      resolve();
    };
    const drop = (piece: Buffer): void => {
      size += piece.length;
      if (size > DISCARDED_BYTES_MAX) finish();
    };
    const timer = setTimeout(finish, DISCARD_TIMEOUT_MS);
    timer.unref();
    request.on('data', drop);
    request.on('end', finish);
    request.on('close', finish);
    request.resume();
  });
}
