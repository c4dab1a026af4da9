import { availableParallelism } from 'node:os';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { IndexProgress } from '../../../shared/contract/shard/shard-read';
import { BuildingPace } from './building-pace';
import {
  GRAPH_ROWS_MIN,
  isOptimized,
  nextStep,
  type MaintenanceStep,
  type Optimization,
  rowsScannedSoon,
  rowsThatWait,
} from './maintenance';
import type { NativeStatus } from './native-binding';
import { PutRate } from './put-rate';

/**
 * Puts have paused if none came for this long: long compared with the gap between batches of a load, short for a
 * person.
 */
const IDLE_MS = 500;
/**
 * A load has paused after as many times the longest gap between its batches, and not before this time: what waits for
 * its end can begin.
 */
const LOAD_GAPS = 2;
const LOAD_IDLE_MS = 100;
/**
 * An index counts as searched for so long after a search: a person at a page of answers looks at them for some seconds.
 */
const SEARCHED_MS = 10_000;
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
  private readonly rate = new PutRate();
  private idleTimer: NodeJS.Timeout | null = null;
  /** Set while a step waits for the end of a load. */
  private loadTimer: NodeJS.Timeout | null = null;
  private retryTimer: NodeJS.Timeout | null = null;
  private lastPutMs = -Infinity;
  /** When a search was last noticed; looked at during loads alone. */
  private searchedMs = -Infinity;
  private rowsSinceLook = 0;
  private retryAtMs = 0;
  private closed = false;

  constructor(
    private readonly index: {
      dim: number;
      /** See VectorIndexOptions. */
      graphRowsMin?: number;
      /** Default: those of the machine. */
      processors?: number;
      status(): NativeStatus;
      /** Whether somebody searched since the last call. */
      takeSearched(): boolean;
      run(step: ActiveStep): Promise<void>;
      /** Nothing is left to do for now. */
      rest(): void;
      onError(error: unknown): void;
    },
  ) {}

  /** Call after every put of `rows` rows. */
  put(rows: number): void {
    this.lastPutMs = performance.now();
    this.rate.note(rows, this.lastPutMs);
    this.changed(rows);
  }

  /** Call after every other change of `rows` rows. */
  changed(rows: number): void {
    if (this.closed) return;
    // A timer that is refreshed costs less than a new one for each put.
    if (this.idleTimer === null) {
      this.idleTimer = setTimeout(() => this.look('long'), IDLE_MS).unref();
    } else {
      this.idleTimer.refresh();
    }
    this.rowsSinceLook += rows;
    if (this.rowsSinceLook >= ROWS_PER_LOOK) this.look('none');
  }

  /** Resolves when no step runs or is due; steps that would wait for a pause run at once. */
  async settled(): Promise<void> {
    // Background steps do not keep the process alive, but a caller that waits for them must see the end.
    const keepAlive = setInterval(() => {}, 1_000);
    try {
      while (!this.closed) {
        this.look('long');
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
    if (this.loadTimer !== null) clearTimeout(this.loadTimer);
    if (this.retryTimer !== null) clearTimeout(this.retryTimer);
    for (const { fail } of this.compactions.splice(0)) fail(new QuiverError('internal', 'the vector index is closed'));
    await this.running?.done;
  }

  /**
   * From now on works until all present rows are in the graph and refined, none of them is dead, and the effort is
   * measured again. Does nothing if it does so already.
   */
  optimize(): void {
    if (this.closed) return;
    this.optimization ??= { rows: this.index.status().rows, compacted: false };
    this.look('long');
  }

  /** Compacts as the next step, whatever else is due. Errors: that of the step; internal when it closes before. */
  compact(): Promise<void> {
    if (this.closed) return Promise.reject(new QuiverError('internal', 'the vector index is closed'));
    return new Promise<void>((done, fail) => {
      this.compactions.push({ done, fail });
      this.retryAtMs = 0;
      this.look('long');
    });
  }

  progress(): IndexProgress {
    const status = this.index.status();
    return this.pace.progress(
      status,
      this.running?.step ?? this.next(status, true, 0, false),
      this.optimization !== null,
    );
  }

  private next(status: NativeStatus, idle: boolean, waiting: number, isSearched: boolean): MaintenanceStep {
    const { dim, graphRowsMin = GRAPH_ROWS_MIN } = this.index;
    return nextStep(status, {
      idle,
      waiting,
      isSearched,
      optimization: this.optimization,
      scannedSoon: rowsScannedSoon(dim),
      graphRowsMin,
    });
  }

  private rowsThatWait(): number {
    const nowMs = performance.now();
    if (this.index.takeSearched()) this.searchedMs = nowMs;
    const { dim, processors = availableParallelism() } = this.index;
    return rowsThatWait({ dim, rowsPerSecond: this.rate.perSecond(nowMs), processors, isSearched: this.isSearched() });
  }

  private isSearched(): boolean {
    return performance.now() - this.searchedMs < SEARCHED_MS;
  }

  /** `pause`: of puts that came one after the other, or of a load. */
  private look(pause: 'none' | 'load' | 'long'): void {
    this.rowsSinceLook = 0;
    if (this.closed || this.running !== null) return;
    const nowMs = performance.now();
    if (nowMs < this.retryAtMs) {
      // Nobody else may look by then, where nothing is written.
      this.retryTimer ??= setTimeout(() => this.afterFailure(), this.retryAtMs - nowMs).unref();
      return;
    }
    const status = this.index.status();
    if (this.optimization !== null && isOptimized(status, this.optimization)) this.optimization = null;
    const idle = pause === 'long';
    const waiting = pause === 'none' ? this.rowsThatWait() : 0;
    const step: MaintenanceStep =
      this.compactions.length > 0 ? { type: 'compact' } : this.next(status, idle, waiting, this.isSearched());
    if (step.type === 'nothing') {
      // What was asked for is done; while puts continue, what is left of it waits for its turn as ever.
      this.optimization = null;
      if (idle) this.index.rest();
      if (waiting > 0) this.loadTimer ??= setTimeout(() => this.afterLoad(), this.loadIdleMs()).unref();
      return;
    }
    // Not at once: a step that can't begin would end before it counts as running.
    this.running = { step, done: Promise.resolve().then(() => this.run(step)) };
  }

  private loadIdleMs(): number {
    return Math.max(LOAD_IDLE_MS, Math.min(this.rate.longestGapMs * LOAD_GAPS, IDLE_MS));
  }

  private afterLoad(): void {
    this.loadTimer = null;
    const sincePutMs = performance.now() - this.lastPutMs;
    if (sincePutMs < this.loadIdleMs())
      this.loadTimer = setTimeout(() => this.afterLoad(), this.loadIdleMs() - sincePutMs).unref();
    else this.look('load');
  }

  private afterFailure(): void {
    this.retryTimer = null;
    this.look(performance.now() - this.lastPutMs < IDLE_MS ? 'none' : 'long');
  }

  private async run(step: ActiveStep): Promise<void> {
    const startedAtMs = performance.now();
    const waiting = step.type === 'compact' ? this.compactions.splice(0) : [];
    try {
      await this.index.run(step);
      this.pace.note(step, performance.now() - startedAtMs);
      for (const { done } of waiting) done();
      if (step.type === 'compact' && this.optimization !== null)
        this.optimization = { rows: this.index.status().rows, compacted: true };
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
