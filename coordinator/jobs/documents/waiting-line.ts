interface Waiting<Of> {
  of: Of;
  enter: () => void;
}

/** Those who wait to be admitted, in their order: nobody waits for ever. */
export class WaitingLine<Of> {
  private queue: Waiting<Of>[] = [];

  /** `admits`: whether the first may enter now; it has entered then. */
  constructor(private readonly admits: (of: Of) => boolean) {}

  get isEmpty(): boolean {
    return this.queue.length === 0;
  }

  /** Resolves when it has entered. Rejects once `stop` is aborted. */
  async wait(of: Of, stop: AbortSignal): Promise<void> {
    stop.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        this.queue = this.queue.filter((one) => one !== waiting);
        reject(stop.reason as Error);
        this.admit();
      };
      const enter = (): void => {
        // A run enters often, with one signal.
        stop.removeEventListener('abort', giveUp);
        resolve();
      };
      const waiting = { of, enter };
      this.queue.push(waiting);
      stop.addEventListener('abort', giveUp, { once: true });
      this.admit();
    });
  }

  /** Lets in who may enter by now. */
  admit(): void {
    for (let [next] = this.queue; next !== undefined && this.admits(next.of); [next] = this.queue) {
      this.queue.shift();
      next.enter();
    }
  }
}

/** Does it the first time alone. */
export function onlyOnce(done: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    done();
  };
}
