/**
 * Work that runs this long at a stretch lets everything else of the event loop go first. Several stretches may follow one
 * another on the way of one request (body, search, answer), so that one must be a small part of what a client notices.
 */
export const SLICE_MS = 5;

interface SlicedWork {
  step: () => boolean;
  fail: (error: unknown) => void;
}

/**
 * Long work of this process, oldest turn first. One queue for the event loop that all share: however many pieces of long
 * work there are, one slice of one of them runs between two rounds of the loop.
 */
const waiting: SlicedWork[] = [];
let isScheduled = false;

/**
 * Runs `steps` to its end and resolves to what it returns. What fits into one slice runs at once, in the caller's turn;
 * the rest in slices between which the event loop serves others, taking turns with other such work.
 * A step (from one `yield` to the next) should take well below a slice: it is what can't be parted.
 * Errors: what a step throws.
 */
export function inSlices<Result>(steps: Iterator<unknown, Result>): Promise<Result> {
  return new Promise((done, fail) => {
    const work = { step: stepOf(steps, done), fail };
    if (!runSlice(work)) queue(work);
  });
}

/**
 * The same for work that is known to be long: it waits for its turn at once, so that twenty pieces of it that begin in one
 * round of the event loop don't hold the loop for twenty slices.
 */
export function inLaterSlices<Result>(steps: Iterator<unknown, Result>): Promise<Result> {
  return new Promise((done, fail) => queue({ step: stepOf(steps, done), fail }));
}

/** Runs `work`, which can't be parted, as a step of its own in its turn. Errors: what it throws. */
export function inTurn<Result>(work: () => Result): Promise<Result> {
  return new Promise((done, fail) => {
    const step = (): boolean => {
      done(work());
      return true;
    };
    queue({ step, fail });
  });
}

/** Runs `steps` to its end at once: for what is short, and where nothing else waits. */
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

/** Whether the work came to its end, by failure too. */
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
