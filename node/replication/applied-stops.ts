/**
 * Places in a log at which its application pauses for a moment, so that somebody sees the records as they are after
 * exactly that entry. Nobody waits at a place that was passed.
 */
export class AppliedStops {
  private readonly waiting = new Map<number, (() => Promise<void>)[]>();

  /** The first place after `applied`; Infinity if there is none. */
  nextAfter(applied: number): number {
    let next = Infinity;
    for (const sequence of this.waiting.keys()) if (sequence > applied && sequence < next) next = sequence;
    return next;
  }

  /**
   * `look` is called, and waited for, when exactly the entries up to `sequence` are applied. Answers how to give it up.
   */
  add(sequence: number, look: () => Promise<void>): () => void {
    this.keep(sequence, [...(this.waiting.get(sequence) ?? []), look]);
    return () =>
      this.keep(
        sequence,
        (this.waiting.get(sequence) ?? []).filter((one) => one !== look),
      );
  }

  /** Lets those look who wait for `applied`, except who gives up before its turn. Never rejects if no look does. */
  async reached(applied: number): Promise<void> {
    for (;;) {
      const [look, ...left] = this.waiting.get(applied) ?? [];
      if (look === undefined) return;
      this.keep(applied, left);
      await look();
    }
  }

  private keep(sequence: number, looks: (() => Promise<void>)[]): void {
    if (looks.length > 0) this.waiting.set(sequence, looks);
    else this.waiting.delete(sequence);
  }
}
