import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { ReadRoom } from './read-room';
import { THREAD_STATE } from './thread-state';

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
    return (room === undefined ? new Socket(options) : room.socket(options)).once('close', noteClosed);
  } catch {
    // Some systems say so only here.
    closeSync(handle);
    noteClosed();
    return null;
  }
}
