import type { Socket } from 'node:net';

/** What Node's parser of HTTP/1.1 says of a connection that begins with HTTP/2's preface (RFC 9113, section 3.4). */
const PREFACE_SEEN = 'HPE_PAUSED_H2_UPGRADE';
/** Types of frames, and the error code HTTP_1_1_REQUIRED (section 7). */
const SETTINGS = 4;
const GOAWAY = 7;
const HTTP_1_1_REQUIRED = 13;
const MESSAGE = 'this port speaks HTTP/2 over TLS only: use HTTP/1.1';
/** A client reads the refusal, and closes the connection, at once. */
const CLOSED_WITHIN_MS = 1_000;

/** Whether a connection begins as HTTP/2 without TLS, which this port does not speak. `error`: of Node's parser. */
export function isHttp2(error: NodeJS.ErrnoException, socket: Socket): boolean {
  const { _httpMessage: begun } = socket as Socket & { _httpMessage?: unknown };
  return error.code === PREFACE_SEEN && socket.bytesWritten === 0 && (begun ?? null) === null;
}

/** Says so in two frames of HTTP/2, which its client understands, and ends the connection. */
export function refuseHttp2(socket: Socket): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  // Whatever follows is dropped. A connection that is closed with unread bytes is reset, and the refusal may be lost.
  socket.removeAllListeners('data');
  socket.resume();
  socket.once('end', () => socket.destroy());
  const patience = setTimeout(() => socket.destroy(), CLOSED_WITHIN_MS);
  socket.once('close', () => clearTimeout(patience));
  socket.end(REFUSAL);
}

function frame(type: number, content: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head[3] = type;
  return Buffer.concat([head, content]);
}

/** That no stream was begun, and why. */
function goAway(): Buffer {
  const content = Buffer.alloc(8);
  content.writeUInt32BE(HTTP_1_1_REQUIRED, 4);
  return Buffer.concat([content, Buffer.from(MESSAGE)]);
}

const REFUSAL = Buffer.concat([frame(SETTINGS, Buffer.alloc(0)), frame(GOAWAY, goAway())]);
