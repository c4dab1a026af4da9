import { THREAD_STATE, THREAD_WORDS } from '../../../shared/base/threads/thread-state';

/** What an HTTP thread and the main thread show each other in shared memory, as int32 numbers. */
export const HTTP_THREAD_STATE = {
  ...THREAD_STATE,
  /** The closed ones that were only told that there is no room. */
  closedTurnedAway: THREAD_WORDS,
  /** When the main thread's event loop turned last, by `sharedMs`; wraps around. */
  mainBeat: THREAD_WORDS + 1,
} as const;

/** How often the main thread shows that its event loop turns. */
export const MAIN_BEAT_MS = 100;

export const HTTP_THREAD_WORDS = Object.keys(HTTP_THREAD_STATE).length;
