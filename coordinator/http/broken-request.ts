import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorEnvelope } from './envelope';

/** What Node's parser says of bytes that are no request. */
function messageFor(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return 'request headers are too large';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'the request did not arrive in time';
  return 'malformed HTTP request';
}

/**
 * Answers a connection whose bytes are no HTTP request, or came too slowly, in the envelope, and closes it. Where an
 * answer has begun or the client is gone the connection is only closed.
 */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  const { _httpMessage: begun } = socket as Socket & { _httpMessage?: { headersSent: boolean } | null };
  if (!socket.writable || error.code === 'ECONNRESET' || begun?.headersSent) {
    socket.destroy();
    return;
  }
  endWithError(socket, 400, messageFor(error.code));
}

/** Answers CONNECT, for which Node hands out the bare connection: no request under any path is a tunnel here. */
export function refuseTunnel(socket: Duplex): void {
  // A reset while the answer is on its way is the caller's business.
  socket.on('error', () => undefined);
  endWithError(socket, 404, 'there is no CONNECT: this is no proxy');
}

function endWithError(socket: Duplex, code: number, message: string): void {
  const body = errorEnvelope(code, message);
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\nx-content-type-options: nosniff\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}
