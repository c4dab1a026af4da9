interface Waiting {
  bytes: number;
  enter: () => void;
}

/** Bounds the memory of the writes that documents become: of a few bytes of a file, it may be a whole one. */
export class WriteMemory {
  private taken = 0;
  private queue: Waiting[] = [];

  constructor(private readonly bytesMax: number) {}

  /** Waits until there is memory; one alone always has some. Answers what gives it back. Rejects once it is stopped. */
  async take(bytes: number, stop: AbortSignal): Promise<() => void> {
    stop.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const giveUp = (): void => {
        this.queue = this.queue.filter((one) => one !== waiting);
        reject(stop.reason as Error);
        this.admit();
      };
      const enter = (): void => {
        stop.removeEventListener('abort', giveUp);
        resolve();
      };
      const waiting = { bytes, enter };
      this.queue.push(waiting);
      stop.addEventListener('abort', giveUp, { once: true });
      this.admit();
    });
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.taken -= bytes;
      this.admit();
    };
  }

  /** In their order: nobody waits for ever. */
  private admit(): void {
    for (let [next] = this.queue; next !== undefined; [next] = this.queue) {
      if (this.taken > 0 && this.taken + next.bytes > this.bytesMax) return;
      this.queue.shift();
      this.taken += next.bytes;
      next.enter();
    }
  }
}
