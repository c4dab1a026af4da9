/** Between two looks at the clock. */
const LOOK_MS = 50;
/** Runs that were late say nothing. So many of them one behind another are no chance of the machine any more. */
const RUNS_MAX = 5;

/**
 * Runs a story in which this process keeps something alive by the real time, a session of a store for example. A
 * process that stands still for longer than `lateMs` loses it, rightly: where such a run fails, it says nothing, and
 * the story is run again.
 */
export async function punctually(lateMs: number, story: () => Promise<void>): Promise<void> {
  for (let run = 1; ; run += 1) {
    let lastMs = performance.now();
    let longestMs = 0;
    const look = (): void => {
      const nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      lastMs = nowMs;
    };
    const timer = setInterval(look, LOOK_MS);
    try {
      return await story();
    } catch (error) {
      look();
      if (longestMs < lateMs || run === RUNS_MAX) throw error;
    } finally {
      clearInterval(timer);
    }
  }
}
