/** Lines about the same kind of thing come no more often than this; those between are counted. */
const REPORT_EVERY_MS = 1_000;

/**
 * Stands around everything that a stranger's bytes set off: listeners of servers, connections and streams, and what
 * they put off by timers. Whatever is thrown or rejected there ends the one thing that it was about, and never the
 * process or thread. Such an error is a fault of this program, so it is told, though not as often as a stranger can
 * cause it.
 */
export class ListenerGuard {
  private reportedMs = -Infinity;
  private untold = 0;

  /** `tell` gets an error and how many others were not told since the last one. */
  constructor(
    private readonly tell: (error: unknown, untold: number) => void,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** `listener`, which lets no error out. `breakOff` gets the same arguments and ends what they are about. */
  around<Given extends unknown[]>(
    listener: (...given: Given) => unknown,
    breakOff: (...given: Given) => void,
  ): (...given: Given) => void {
    return (...given) =>
      this.run(
        () => listener(...given),
        () => breakOff(...given),
      );
  }

  /** Does `work`, which may answer a promise; `breakOff` is called if it throws or rejects. Never throws. */
  run(work: () => unknown, breakOff: () => void): void {
    try {
      const result = work();
      if (result instanceof Promise) result.catch((error: unknown) => this.caught(error, breakOff));
    } catch (error) {
      this.caught(error, breakOff);
    }
  }

  private caught(error: unknown, breakOff: () => void): void {
    this.note(error);
    try {
      breakOff();
    } catch (second) {
      this.note(second);
    }
  }

  private note(error: unknown): void {
    const nowMs = this.nowMs();
    if (nowMs - this.reportedMs < REPORT_EVERY_MS) {
      this.untold += 1;
      return;
    }
    const { untold } = this;
    this.reportedMs = nowMs;
    this.untold = 0;
    try {
      this.tell(error, untold);
    } catch {
      // A line that is lost ends nothing either.
    }
  }
}
