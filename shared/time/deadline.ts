/** The longest that one of Node's timers can wait: beyond it, it fires at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/** Calls `late` when `leftMs` are over, at once where nothing is left; after 25 days at the latest. */
export function deadlineTimer(leftMs: number, late: () => void): NodeJS.Timeout {
  return setTimeout(late, Math.min(Math.max(0, leftMs), TIMER_MAX_MS));
}

/** What `work` answers or fails with; `late()` when it takes longer than `timeoutMs`, and then it goes on unheard. */
export function inTime<Result>(work: Promise<Result>, timeoutMs: number, late: () => Error): Promise<Result> {
  return new Promise((done, fail) => {
    const timer = deadlineTimer(timeoutMs, () => fail(late()));
    work.then(done, fail).finally(() => clearTimeout(timer));
  });
}
