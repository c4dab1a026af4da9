import { QuiverError } from '../../shared/errors/quiver-error';
import type { IndexProgress } from '../../shared/shard/shard-read';
import { BuildingPace } from './building-pace';
import { GRAPH_ROWS_MIN, isOptimized, nextStep, type MaintenanceStep, type Optimization } from './maintenance';
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
  private running: { step: ActiveStep; done: Promise<void> } | null = null;
  private optimization: Optimization | null = null;
  /** Who waits for a compaction that begins after they asked. */
  private readonly compactions: { done: () => void; fail: (error: unknown) => void }[] = [];
  private readonly pace = new BuildingPace();
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
      /** Nothing is left to do for now. */
      rest(): void;
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
        await this.running.done;
      }
    } finally {
      clearInterval(keepAlive);
    }
  }

  /** Starts no more steps. Resolves when the running one has ended; the caller may make it end early. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.idleTimer !== null) clearTimeout(this.idleTimer);
    for (const { fail } of this.compactions.splice(0)) fail(new QuiverError('internal', 'the vector index is closed'));
    await this.running?.done;
  }

  /**
   * From now on works until all present rows are in the graph and refined, none of them is dead, and the effort is measured
   * anew. Does nothing if it does so already.
   */
  optimize(): void {
    if (this.closed) return;
    this.optimization ??= { rows: this.index.status().rows, compacted: false };
    this.look(true);
  }

  /** Compacts as the next step, whatever else is due. Errors: that of the step; internal when it closes before. */
  compact(): Promise<void> {
    if (this.closed) return Promise.reject(new QuiverError('internal', 'the vector index is closed'));
    return new Promise<void>((done, fail) => {
      this.compactions.push({ done, fail });
      this.retryAtMs = 0;
      this.look(true);
    });
  }

  progress(): IndexProgress {
    const status = this.index.status();
    return this.pace.progress(status, this.running?.step ?? this.next(status, true), this.optimization !== null);
  }

  private next(status: NativeStatus, idle: boolean): MaintenanceStep {
    return nextStep(status, { idle, optimization: this.optimization, graphRowsMin: this.index.graphRowsMin ?? GRAPH_ROWS_MIN });
  }

  private look(idle: boolean): void {
    this.rowsSinceLook = 0;
    if (this.closed || this.running !== null || performance.now() < this.retryAtMs) return;
    const status = this.index.status();
    if (this.optimization !== null && isOptimized(status, this.optimization)) this.optimization = null;
    const step: MaintenanceStep = this.compactions.length > 0 ? { type: 'compact' } : this.next(status, idle);
    if (step.type === 'nothing') {
      // What was asked for is done; while puts continue, what is left of it waits for its turn as ever.
      this.optimization = null;
      if (idle) this.index.rest();
      return;
    }
    // Not at once: a step that can't begin would end before it counts as running.
    this.running = { step, done: Promise.resolve().then(() => this.run(step)) };
  }

  private async run(step: ActiveStep): Promise<void> {
    const startedAtMs = performance.now();
    const waiting = step.type === 'compact' ? this.compactions.splice(0) : [];
    try {
      await this.index.run(step);
      this.pace.note(step, performance.now() - startedAtMs);
      for (const { done } of waiting) done();
      if (step.type === 'compact' && this.optimization !== null) this.optimization = { rows: this.index.status().rows, compacted: true };
    } catch (error) {
      for (const { fail } of waiting) fail(error);
      if (!this.closed) {
        this.retryAtMs = performance.now() + RETRY_MS;
        this.index.onError(error);
      }
    }
    this.running = null;
    if (!this.closed) this.changed(ROWS_PER_LOOK);
  }
}
