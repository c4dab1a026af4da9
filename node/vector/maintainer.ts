import { nextStep, type MaintenanceStep } from './maintenance';
import type { NativeStatus } from './native-binding';

/** Puts have paused if none came for this long: long compared with the gap between batches of a load, short for a person. */
const IDLE_MS = 500;
/** The pause after a failed step (for example because of a full disk), so that it is not repeated without end. */
const RETRY_MS = 30_000;
/** Checking the status takes microseconds, so it is not done after each single put. */
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
      /** See VectorIndexOptions. */
      graphRowsMin?: number;
      status(): NativeStatus;
      run(step: ActiveStep): Promise<void>;
      onError(error: unknown): void;
    },
  ) {}

  /** Call after every change of `rows` rows. */
  changed(rows: number): void {
    if (this.closed) return;
    // A timer that is refreshed costs less than a new one for each put.
    if (this.idleTimer === null) {
      this.idleTimer = setTimeout(() => this.look(true), IDLE_MS).unref();
    } else {
      this.idleTimer.refresh();
    }
    this.rowsSinceLook += rows;
    if (this.rowsSinceLook >= ROWS_PER_LOOK) this.look(false);
  }

  /** Resolves when no step runs or is due; steps that would wait for a pause run at once. */
  async settled(): Promise<void> {
    // Background steps do not keep the process alive, but a caller that waits for them must see the end.
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

  /** Starts no more steps. Resolves when the running one has ended; the caller may make it end early. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.idleTimer !== null) clearTimeout(this.idleTimer);
    await this.running;
  }

  private look(idle: boolean): void {
    this.rowsSinceLook = 0;
    if (this.closed || this.running !== null || performance.now() < this.retryAtMs) return;
    const step = nextStep(this.index.status(), idle, this.index.graphRowsMin);
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
