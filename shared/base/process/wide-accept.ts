import { createServer, type Server, type ServerOpts, type Socket } from 'node:net';

/** Makes another handle of an open file or socket; the addons offer it. */
export type DuplicateHandle = (handle: number) => number;

/** Connections that are taken in one round of the event loop, at most. */
export const ACCEPT_WIDTH = 16;

/**
 * Lets a server that listens take {@link ACCEPT_WIDTH} connections in each round of the event loop. Node takes one for
 * each listening handle (libuv from 1.46 on). A busy process has some fifty rounds in a second, so where strangers come
 * and go, a connection would wait behind hundreds for its turn, whatever its request costs. The further handles are
 * duplicates of the first: all take from the same queue of the system. The bound `maxConnections` holds for all
 * together, and `close` closes all.
 */
export function acceptWide(server: Server, duplicateHandle: DuplicateHandle): void {
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
  const connectionsMax: number | undefined = server.maxConnections;
  /** Of all handles. */
  let connections = 0;
  /** Of the further handles. */
  let further = 0;
  const count = (socket: Socket): void => {
    connections += 1;
    socket.once('close', () => (connections -= 1));
  };
  server.prependListener('connection', count);
  const handles = Array.from({ length: ACCEPT_WIDTH - 1 }, () => {
    const handle = createServer(optionsOf(server), (socket) => {
      if (connectionsMax !== undefined && connections >= connectionsMax) {
        socket.destroy();
        return;
      }
      leaveRoom(1);
      socket.once('close', () => leaveRoom(-1));
      server.emit('connection', socket);
    });
    handle.on('error', (error) => server.emit('error', error));
    return handle.listen({ fd: duplicateHandle(fd) });
  });
  /** The first handle counts its own connections alone; 0 would mean that it has no bound. */
  function leaveRoom(taken: number): void {
    further += taken;
    if (connectionsMax !== undefined) server.maxConnections = Math.max(1, connectionsMax - further);
  }
  const closeFirst = server.close.bind(server);
  server.close = (done) => {
    server.close = closeFirst;
    server.off('connection', count);
    const closed = handles.map((handle) => new Promise<void>((resolve) => handle.close(() => resolve())));
    return closeFirst((error) => void Promise.all(closed).then(() => done?.(error)));
  };
}

/** How a server opens its connections: it keeps what it was made with under the same names. */
function optionsOf(server: Server): ServerOpts {
  const { allowHalfOpen, pauseOnConnect, noDelay, keepAlive, keepAliveInitialDelay } = server as Server & ServerOpts;
  return { allowHalfOpen, pauseOnConnect, noDelay, keepAlive, keepAliveInitialDelay };
}
