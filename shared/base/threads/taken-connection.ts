import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { ReadRoom } from './read-room';
import { THREAD_STATE } from './thread-state';

/** Those of this thread that are not closed. */
const open = new Set<Socket>();

/**
 * Takes a connection that the main thread dealt to this thread (ServingThreads), and counts it in `state`. `closed`:
 * called once, when it is closed; before it counts as that. `room`: what is read of it comes through there; only for
 * one whose bytes are read as they come, by `data` events. null: the client is gone already.
 */
export function takenConnection(
  state: Int32Array,
  handle: number,
  { closed, room }: { closed?: () => void; room?: ReadRoom | undefined } = {},
): Socket | null {
  // Counted first: if the thread is ended here, a handle stays open, which is better than to be closed twice.
  Atomics.add(state, THREAD_STATE.taken, 1);
  const noteClosed = (): void => {
    closed?.();
    Atomics.add(state, THREAD_STATE.closed, 1);
  };
  try {
    const options = { fd: handle, readable: true, writable: true };
    const socket = room === undefined ? new Socket(options) : room.socket(options);
    open.add(socket);
    return socket.once('close', () => {
      open.delete(socket);
      noteClosed();
    });
  } catch {
    // Some systems say so only here.
    closeSync(handle);
    noteClosed();
    return null;
  }
}

/**
 * Ends this worker thread, from its own event loop and with no connection that could still be read: where another
 * thread ends it (Worker.terminate) while Node's parser of HTTP is at work, Node ends the process.
 */
export function endThread(): void {
  for (const socket of open) socket.destroy();
  // Closed handles are gone in the next turn.
  setImmediate(() => setImmediate(() => process.exit(0)));
}
