import { type ConnectOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { Slab } from '../memory/slab';

const READ_BYTES = 64 * 1024;

/**
 * Where the bytes of a thread's connections arrive, one connection after the other. By default, Node makes new memory
 * of 64 KiB for each piece that comes, and shortens it.
 */
export class ReadRoom {
  private readonly arrived = Buffer.allocUnsafeSlow(READ_BYTES);
  private readonly slab = new Slab();

  /**
   * A connection that reads there. Its `data` events are as ever, but nothing else shows what it reads. Errors: those
   * of Socket.
   */
  socket(options: SocketConstructorOpts): Socket {
    const { arrived } = this;
    const reading: ConnectOpts = {
      onread: {
        buffer: arrived,
        callback: (bytes) => {
          const piece = this.slab.take(bytes);
          arrived.copy(piece, 0, 0, bytes);
          socket.emit('data', piece);
          return true;
        },
      },
    };
    const socket = new Socket({ ...options, ...reading });
    return socket;
  }
}
