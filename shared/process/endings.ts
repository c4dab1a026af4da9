/** What a process has started, to be ended in the reverse order. */
export class Endings {
  private readonly endings: (() => void | Promise<void>)[] = [];

  defer(ending: () => void | Promise<void>): void {
    this.endings.push(ending);
  }

  async unwind(): Promise<void> {
    for (let ending = this.endings.pop(); ending !== undefined; ending = this.endings.pop()) await ending();
  }
}

/** Runs a start; what it has deferred so far is ended when it fails, and by `stop` when it does not. */
export async function startWithEndings(build: (endings: Endings) => Promise<void>): Promise<{ stop: () => Promise<void> }> {
  const endings = new Endings();
  try {
    await build(endings);
  } catch (error) {
    await endings.unwind();
    throw error;
  }
  return { stop: () => endings.unwind() };
}
