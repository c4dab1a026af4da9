/** Collects how to end what a process has started; everything is ended in the reverse order. */
export class Endings {
  private readonly endings: (() => void | Promise<void>)[] = [];

  defer(ending: () => void | Promise<void>): void {
    this.endings.push(ending);
  }

  async unwind(): Promise<void> {
    for (let ending = this.endings.pop(); ending !== undefined; ending = this.endings.pop()) await ending();
  }
}

/** Runs a start. If it fails, everything deferred so far is ended; otherwise `stop` ends it. */
export async function startWithEndings(
  build: (endings: Endings) => Promise<void>,
): Promise<{ stop: () => Promise<void> }> {
  const endings = new Endings();
  try {
    await build(endings);
  } catch (error) {
    await endings.unwind();
    throw error;
  }
  return { stop: () => endings.unwind() };
}
