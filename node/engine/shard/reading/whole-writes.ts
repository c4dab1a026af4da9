/** How often a read that a write has overtaken is repeated before it holds such writes off. */
const ATTEMPTS_MAX = 3;

/**
 * Lets each read of a shard see some writes wholly or not at all, though the indexes follow them in slices: a read
 * waits while they do, and one that was under way is repeated. A read that is overtaken again and again keeps the next
 * such write waiting. Reads on other threads go by the change counter of the directory, and ask here where it moved.
 */
export class WholeWrites {
  private count = 0;
  private applying: Signal | null = null;
  private holders = 0;
  private unheld: Signal | null = null;

  /** Before the indexes follow such a write. Undefined: nothing has to be waited for. One at a time. */
  begin(): Promise<void> | undefined {
    if (this.holders > 0) return this.beginLater();
    this.count += 1;
    this.applying = new Signal();
    return undefined;
  }

  /** Once all that reads go by shows it. */
  end(): void {
    const { applying } = this;
    this.applying = null;
    applying?.tell();
  }

  /** Makes an answer that shows no such write in part. `answer` may be called several times. */
  read<Answer>(answer: () => Answer | Promise<Answer>): Answer | Promise<Answer> {
    if (this.applying !== null) return this.readAgain(answer);
    const seen = this.count;
    const made = answer();
    if (!(made instanceof Promise)) return made;
    return made.then((found) => (this.count === seen ? found : this.readAgain(answer)));
  }

  private async beginLater(): Promise<void> {
    while (this.holders > 0) {
      this.unheld ??= new Signal();
      await this.unheld.told;
    }
    await this.begin();
  }

  private async readAgain<Answer>(answer: () => Answer | Promise<Answer>): Promise<Answer> {
    for (let attempt = 1; attempt < ATTEMPTS_MAX; attempt += 1) {
      while (this.applying !== null) await this.applying.told;
      const seen = this.count;
      const found = await answer();
      if (this.count === seen) return found;
    }
    this.holders += 1;
    try {
      while (this.applying !== null) await this.applying.told;
      return await answer();
    } finally {
      this.holders -= 1;
      if (this.holders === 0) {
        this.unheld?.tell();
        this.unheld = null;
      }
    }
  }
}

class Signal {
  tell!: () => void;
  readonly told = new Promise<void>((tell) => (this.tell = tell));
}
