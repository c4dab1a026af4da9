import { Socket } from 'node:net';

/** What a stream gives to `_writev`. */
type Chunks = Parameters<NonNullable<Socket['_writev']>>[0];

/**
 * Makes a connection write a short answer as one string. Node ends an answer with an empty chunk, so that each one goes
 * the slower way for several chunks.
 */
export function writeInOnePiece(socket: Socket): void {
  socket._writev = writeChunks;
}

function writeChunks(this: Socket, chunks: Chunks, done: (error?: Error | null) => void): void {
  const [first, second] = chunks;
  if (chunks.length === 2 && second.chunk.length === 0) this._write(first.chunk, first.encoding, done);
  else Socket.prototype._writev?.call(this, chunks, done);
}
