/** The longest delay of a Node timer; a timer with a longer one fires at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/** Calls `late` after `leftMs`: at once if that is 0 or less, and after 25 days at the latest. */
export function deadlineTimer(leftMs: number, late: () => void): NodeJS.Timeout {
  return setTimeout(late, Math.min(Math.max(0, leftMs), TIMER_MAX_MS));
}

/**
 * Settles like `work`, or rejects with `late()` after `timeoutMs`. In that case the work continues, and its result is
 * ignored.
 */
export function inTime<Result>(work: Promise<Result>, timeoutMs: number, late: () => Error): Promise<Result> {
  return new Promise((done, fail) => {
    const timer = deadlineTimer(timeoutMs, () => fail(late()));
    work.then(done, fail).finally(() => clearTimeout(timer));
  });
}

/**
 * Settles like `work`, or rejects with `stopped()` once `stop` is aborted. In that case the work continues, and its
 * result is ignored.
 */
export function unlessStopped<Result>(work: Promise<Result>, stop: AbortSignal, stopped: () => Error): Promise<Result> {
  return new Promise((done, fail) => {
    const end = (): void => fail(stopped());
    stop.addEventListener('abort', end);
    // Of one that is aborted already, nobody tells.
    if (stop.aborted) end();
    work.then(done, fail).finally(() => stop.removeEventListener('abort', end));
  });
}

/**
 * Settles like `run`, whose signal is aborted after `timeoutMs`, with a TimeoutError, and when `stop` is. A signal of
 * `AbortSignal.any` and `AbortSignal.timeout` would not do: Node 20 frees the second one, which then never aborts.
 */
export async function underDeadline<Result>(
  timeoutMs: number,
  stop: AbortSignal | null,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const timer = deadlineTimer(timeoutMs, () => controller.abort(new DOMException('not in time', 'TimeoutError')));
  const end = (): void => controller.abort(stop?.reason);
  stop?.addEventListener('abort', end);
  // Of one that is aborted already, nobody tells.
  if (stop?.aborted === true) end();
  try {
    return await run(controller.signal);
  } finally {
    clearTimeout(timer);
    stop?.removeEventListener('abort', end);
  }
}
