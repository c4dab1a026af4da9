/** Lets so many through at once, and the others in the order in which they came. */
export class LaneQueue {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  /** Does the work as soon as a lane is free. Errors: those of the work. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((go) => this.waiting.push(go));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      // The lane passes from one to the next: nobody who comes meanwhile takes it.
      if (next === undefined) this.free += 1;
      else next();
    }
  }
}
