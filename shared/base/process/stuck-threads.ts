let stuck = 0;

/**
 * Notes a thread that was given up inside of native code. `process.exit` waits for every thread, so for such a one it
 * may wait for ever. What it answers is to be called when the thread has ended after all.
 */
export function noteStuckThread(): () => void {
  stuck += 1;
  return () => {
    stuck -= 1;
  };
}

/** How many threads of this process were given up and have not ended. */
export function stuckThreads(): number {
  return stuck;
}
