import { nextStep, type MaintenanceStep } from './maintenance';
import type { NativeStatus } from './native-binding';

/** Puts pause when none came for so long: long against the gap between batches of a load, short to a person. */
const IDLE_MS = 500;
/** After a failed step (a full disk, say) the next is tried no sooner, lest it be tried without end. */
const RETRY_MS = 30_000;
/** Looking at the status costs microseconds: not after each single put. */
const ROWS_PER_LOOK = 256;

type ActiveStep = Exclude<MaintenanceStep, { type: 'nothing' }>;

/** Runs the background steps of one index, one after another, as {@link nextStep} decides. */
export class Maintainer {
  private running: Promise<void> | null = null;
  private idleTimer: NodeJS.Timeout | null = null;
  private rowsSinceLook = 0;
  private retryAtMs = 0;
  private closed = false;

  constructor(
    private readonly index: {
      status(): NativeStatus;
      run(step: ActiveStep): Promise<void>;
      onError(error: unknown): void;
    },
  ) {}

  /** To be called after every change of so many rows. */
  changed(rows: number): void {
    if (this.closed) return;
    // A timer that keeps being put off costs less than one made anew for each put.
    if (this.idleTimer === null) {
      this.idleTimer = setTimeout(() => this.look(true), IDLE_MS).unref();
    } else {
      this.idleTimer.refresh();
    }
    this.rowsSinceLook += rows;
    if (this.rowsSinceLook >= ROWS_PER_LOOK) this.look(false);
  }

  /** Resolves when no step runs or is due; what would wait for a pause is done at once. */
  async settled(): Promise<void> {
    // Background steps do not keep the process alive, but someone waiting for them shall.
    const keepAlive = setInterval(() => {}, 1_000);
    try {
      while (!this.closed) {
        this.look(true);
        if (this.running === null) return;
        await this.running;
      }
    } finally {
      clearInterval(keepAlive);
    }
  }

  /** No step starts any more; resolves when the last one has ended, which is for the caller to hasten. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.idleTimer !== null) clearTimeout(this.idleTimer);
    await this.running;
  }

  private look(idle: boolean): void {
    this.rowsSinceLook = 0;
    if (this.closed || this.running !== null || performance.now() < this.retryAtMs) return;
    const step = nextStep(this.index.status(), idle);
    if (step.type === 'nothing') return;
    this.running = this.index
      .run(step)
      .catch((error: unknown) => {
        if (this.closed) return;
        this.retryAtMs = performance.now() + RETRY_MS;
        this.index.onError(error);
      })
      .finally(() => {
        this.running = null;
        if (!this.closed) this.changed(ROWS_PER_LOOK);
      });
  }
}
