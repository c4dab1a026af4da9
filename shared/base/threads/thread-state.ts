/**
 * What a thread that serves and the main thread show each other in shared memory, as int32 numbers: what can't wait for
 * a message, because the other side may be busy.
 */
export const THREAD_STATE = {
  /** Rises while the thread's event loop turns. */
  beat: 0,
  /** Connections that it has taken since it started, of those handed to it, in their order. */
  taken: 1,
  /** Those of them that are closed; the main thread knows how many it dealt. */
  closed: 2,
} as const;

/** How often a thread shows that its event loop turns. */
export const THREAD_BEAT_MS = 250;

/** Words of THREAD_STATE; who needs more has them behind these. */
export const THREAD_WORDS = Object.keys(THREAD_STATE).length;

export function newThreadState(words = THREAD_WORDS): Int32Array {
  return new Int32Array(new SharedArrayBuffer(words * Int32Array.BYTES_PER_ELEMENT));
}
