/**
 * After this long, work pauses so that the event loop can serve everything else. One request may need several slices
 * (body, search, answer), so a slice must be a small part of what a client notices.
 */
export const SLICE_MS = 5;

interface SlicedWork {
  step: () => boolean;
  fail: (error: unknown) => void;
}

/**
 * The long work of this process, next first. There is one queue because all share one event loop: however much long
 * work there is, only one slice of it runs between two rounds of the loop.
 */
const waiting: SlicedWork[] = [];
let isScheduled = false;

/**
 * Runs `steps` to the end and resolves to the value that it returns. The first slice runs at once, in the caller's
 * turn. The rest runs in later slices, in turn with other such work, and the event loop serves others in between. A
 * step (from one `yield` to the next) should take much less than a slice, because it can't be interrupted. Errors: what
 * a step throws.
 */
export function inSlices<Result>(steps: Iterator<unknown, Result>): Promise<Result> {
  return new Promise((done, fail) => {
    const work = { step: stepOf(steps, done), fail };
    if (!runSlice(work)) queue(work);
  });
}

/**
 * The same for work that is known to be long: its first slice waits for its turn, too. So twenty such calls in one
 * round of the event loop don't block it for twenty slices.
 */
export function inLaterSlices<Result>(steps: Iterator<unknown, Result>): Promise<Result> {
  return new Promise((done, fail) => queue({ step: stepOf(steps, done), fail }));
}

/** Runs `work`, which can't be split, as one step in its turn. Errors: what it throws. */
export function inTurn<Result>(work: () => Result): Promise<Result> {
  return new Promise((done, fail) => {
    const step = (): boolean => {
      done(work());
      return true;
    };
    queue({ step, fail });
  });
}

/** When the first work that asked for its own turn did so in this round of the event loop; null: none has. */
let roundSinceMs: number | null = null;

/**
 * For parts of work that are short, and of which many may come in one round of the event loop: of answers to many
 * requests that are there together, for example. To be called before each part. undefined: this round has time for it;
 * else it resolves in a later one, in turn with other long work.
 */
export function ownTurn(): Promise<void> | undefined {
  const nowMs = performance.now();
  if (roundSinceMs === null) {
    roundSinceMs = nowMs;
    setImmediate(() => (roundSinceMs = null));
    return undefined;
  }
  return nowMs - roundSinceMs < SLICE_MS ? undefined : inTurn(() => undefined);
}

/** Runs `steps` to the end at once: for short work, and where nothing else waits. */
export function resultOf<Result>(steps: Iterator<unknown, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

function stepOf<Result>(steps: Iterator<unknown, Result>, done: (result: Result) => void): () => boolean {
  return () => {
    const { done: isDone, value } = steps.next();
    if (isDone === true) done(value as Result);
    return isDone === true;
  };
}

function queue(work: SlicedWork): void {
  waiting.push(work);
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(runNext);
}

function runNext(): void {
  isScheduled = false;
  const work = waiting.shift();
  if (work === undefined) return;
  if (!runSlice(work)) waiting.push(work);
  if (waiting.length === 0) return;
  isScheduled = true;
  setImmediate(runNext);
}

/** Runs one slice. Answers whether the work has ended, which includes failing. */
function runSlice(work: SlicedWork): boolean {
  const endMs = performance.now() + SLICE_MS;
  try {
    do {
      if (work.step()) return true;
    } while (performance.now() < endMs);
    return false;
  } catch (error) {
    work.fail(error);
    return true;
  }
}
