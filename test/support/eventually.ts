/**
 * Between two looks, in milliseconds: short at first, and then no load on a machine whose processes are what is
 * awaited.
 */
const PAUSE_FIRST_MS = 5;
const PAUSE_MAX_MS = 100;

/** For whatever comes by itself: far longer than it takes on a slow machine that has other work. */
export const PATIENCE_MS = 180_000;

/**
 * Waits until `holds` is true, looking again after growing pauses; throws after `deadlineMs`, which is never less than
 * {@link PATIENCE_MS}, with what was awaited.
 */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = PATIENCE_MS,
): Promise<void> {
  if (deadlineMs < PATIENCE_MS) throw new Error(`less patience than for all else, ${PATIENCE_MS} ms: leave it out`);
  const deadline = performance.now() + deadlineMs;
  for (let pauseMs = PAUSE_FIRST_MS; !(await holds()); pauseMs = Math.min(1.5 * pauseMs, PAUSE_MAX_MS)) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((wake) => setTimeout(wake, pauseMs));
  }
}
