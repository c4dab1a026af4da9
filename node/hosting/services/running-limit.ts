import { QuiverError } from '../../../shared/base/errors/quiver-error';

/**
 * Bounds how much of something may be in use at once over all streams of a node. What exceeds it is refused, not
 * queued.
 */
export class RunningLimit {
  private inUse = 0;

  /** `what` names it in the error: "reads", "bytes of writes". */
  constructor(
    private readonly max: number,
    private readonly what: string,
  ) {}

  /** Errors: overloaded when too much is in use. A single amount above the limit passes if nothing else is in use. */
  take(amount: number): void {
    if (this.inUse > 0 && this.inUse + amount > this.max)
      throw new QuiverError('overloaded', `too many ${this.what} at once on this node`);
    this.inUse += amount;
  }

  get used(): number {
    return this.inUse;
  }

  giveBack(amount: number): void {
    this.inUse -= amount;
  }
}
