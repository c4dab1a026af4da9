/** Collects how to end what a process has started; everything is ended in the reverse order. */
export class ShutdownStack {
  private readonly shutdown: (() => void | Promise<void>)[] = [];

  defer(ending: () => void | Promise<void>): void {
    this.shutdown.push(ending);
  }

  async unwind(): Promise<void> {
    for (let ending = this.shutdown.pop(); ending !== undefined; ending = this.shutdown.pop()) await ending();
  }
}

/** Runs a start. If it fails, everything deferred so far is ended; otherwise `stop` ends it. */
export async function startWithShutdown(
  build: (shutdown: ShutdownStack) => Promise<void>,
): Promise<{ stop: () => Promise<void> }> {
  const shutdown = new ShutdownStack();
  try {
    await build(shutdown);
  } catch (error) {
    await shutdown.unwind();
    throw error;
  }
  return { stop: () => shutdown.unwind() };
}
