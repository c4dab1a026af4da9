import { onlyOnce, WaitingLine } from './waiting-line';

/**
 * Which documents are at work that the process may end of. One at which a process ended before is at it alone, so that
 * of several the one is found that it ends of.
 */
export class Company {
  /** Of those that have no part in it now: each stores that. */
  readonly absent = new Set<() => Promise<void>>();
  private inside = 0;
  private hasOneAlone = false;
  private readonly line = new WaitingLine<boolean>((isAlone) => {
    if (this.hasOneAlone || (isAlone && this.inside > 0)) return false;
    this.inside += 1;
    this.hasOneAlone = isAlone;
    return true;
  });

  /** Whether one that need not be alone would enter at once. */
  get isOpen(): boolean {
    return !this.hasOneAlone && this.line.isEmpty;
  }

  /** Waits for its turn; answers what ends it. It rejects once `stop` is aborted. */
  async enter(isAlone: boolean, stop: AbortSignal): Promise<() => void> {
    await this.line.wait(isAlone, stop);
    if (isAlone) await Promise.all([...this.absent].map((say) => say().catch(() => undefined)));
    return onlyOnce(() => {
      this.inside -= 1;
      if (isAlone) this.hasOneAlone = false;
      this.line.admit();
    });
  }
}
