/** A signal that fires after a time without a restart, or when the caller's does. */
export class Deadline {
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly give = (): void => this.controller.abort(this.given?.reason);
  private isEnded = false;
  isOver = false;

  constructor(
    readonly timeoutMs: number,
    private readonly given: AbortSignal | undefined,
  ) {
    if (given?.aborted === true) this.give();
    else given?.addEventListener('abort', this.give);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  restart(): void {
    this.pause();
    // A body may still be on its way when its answer is there.
    if (this.isEnded) return;
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.controller.abort();
    }, this.timeoutMs);
  }

  pause(): void {
    clearTimeout(this.timer);
  }

  /** The same promise, but it rejects when the signal fires: not every fetch and every body listens. */
  async within<Result>(promise: Promise<Result>): Promise<Result> {
    const { signal } = this.controller;
    return new Promise<Result>((resolve, reject) => {
      const stop = (): void => reject(signal.reason as Error);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop);
      promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  }

  /** Stops what still goes on with the signal. */
  stop(): void {
    this.controller.abort();
  }

  throwIfGivenUp(): void {
    this.given?.throwIfAborted();
  }

  end(): void {
    this.isEnded = true;
    this.pause();
    this.given?.removeEventListener('abort', this.give);
  }
}

/** Resolves after a time; rejects with the reason of a signal that fires before. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
