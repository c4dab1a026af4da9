interface Waiting {
  isAlone: boolean;
  enter: () => void;
}

/**
 * Which documents are at work that the process may end of. One at which a process ended before is at it alone, so that
 * of several the one is found that it ends of.
 */
export class Company {
  /** Of those that have no part in it now: each stores that. */
  readonly absent = new Set<() => Promise<void>>();
  private inside = 0;
  private hasOneAlone = false;
  private queue: Waiting[] = [];

  /** Whether one that need not be alone would enter at once. */
  get isOpen(): boolean {
    return !this.hasOneAlone && this.queue.length === 0;
  }

  /** Waits for its turn; answers what ends it. It rejects once `stop` is aborted. */
  async enter(isAlone: boolean, stop: AbortSignal): Promise<() => void> {
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
      const waiting = { isAlone, enter };
      this.queue.push(waiting);
      stop.addEventListener('abort', giveUp, { once: true });
      this.admit();
    });
    if (isAlone) await Promise.all([...this.absent].map((say) => say().catch(() => undefined)));
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.inside -= 1;
      if (isAlone) this.hasOneAlone = false;
      this.admit();
    };
  }

  /** In their order: nobody waits for ever. */
  private admit(): void {
    for (let [next] = this.queue; next !== undefined; [next] = this.queue) {
      if (this.hasOneAlone || (next.isAlone && this.inside > 0)) return;
      this.queue.shift();
      this.inside += 1;
      this.hasOneAlone = next.isAlone;
      next.enter();
    }
  }
}
