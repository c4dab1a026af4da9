import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import { inTime } from '../../../shared/base/time/deadline';
import type { EmbeddingKind } from '../embedding-provider';
import type { EmbeddingRunner } from './embedding-thread';
import { type BatchBounds, TextQueue, type WaitingText } from './text-queue';

/**
 * Measured on two cores with a model of MiniLM's size and one thread: batches of eight short texts run 1.3 to 1.9 times
 * as fast as single texts; beyond about 250 tokens in all it gets slower again.
 */
const TOGETHER: BatchBounds = { textsMax: 16, charactersMax: 1024 };
const ALONE: BatchBounds = { textsMax: 1, charactersMax: Infinity };
/** One that runs and one that follows at once, so that no worker waits for this thread. */
const REQUESTS_PER_RUNNER = 2;
/**
 * Texts that may wait. A call is accepted whatever its size if no text is waiting. A small model processes this many in
 * about ten seconds.
 */
const WAITING_MAX: Readonly<Record<EmbeddingKind, number>> = { query: 1024, passage: 4096 };

/**
 * A runner that has a request, and answered none over more looks than these, is given up. That is ten times the longest
 * time of a call, and ten minutes at least: who waits for a batch has long been told that it took too long, and the
 * slowest honest one (8,192 tokens of a model with half a billion weights, on one busy core) is not cut off. Looks are
 * counted, not time: a process that was suspended is not late.
 */
const LOOKS_MAX = 10;
const CHECK_MS = 60_000;
/** Most batches take far less than a second. The rest of a stop needs its part of SHUTDOWN_TIMEOUT_MS, too. */
const CLOSE_MS = 10_000;

interface Call {
  vectors: (Float32Array | undefined)[];
  missing: number;
  timer: NodeJS.Timeout;
  onLeft: (index: number, tokens: number) => void;
  resolve: (vectors: Float32Array[]) => void;
  reject: (error: unknown) => void;
}

/** The place of one runner: it may be loading, running, or gone because it could not be started again. */
interface Seat {
  runner: EmbeddingRunner | null;
  running: number;
  /** Looks since it answered last, or got its first request. */
  silentLooks: number;
  isStarting: boolean;
}

/**
 * Distributes texts over the runners of one model. Texts of different calls share batches if the model allows it.
 * Queries have priority, but not always. A runner that ends is replaced, and so is one that answers no more.
 */
export class EmbeddingDispatcher {
  private readonly queue = new TextQueue<Call>();
  private readonly calls = new Set<Call>();
  private readonly seats: Seat[];
  private readonly bounds: BatchBounds;
  private readonly look: NodeJS.Timeout;
  private isClosed = false;

  /**
   * Takes over `runners`, all of the same model. `timeoutMs` bounds a call; `restart` starts another runner of the same
   * kind.
   */
  constructor(
    private readonly options: {
      runners: EmbeddingRunner[];
      restart: () => Promise<EmbeddingRunner>;
      timeoutMs: number;
      log: Pick<Logger, 'warn' | 'error'>;
    },
  ) {
    this.bounds = options.runners.every(({ isInvariant }) => isInvariant) ? TOGETHER : ALONE;
    this.seats = options.runners.map(() => ({ runner: null, running: 0, silentLooks: 0, isStarting: false }));
    this.seats.forEach((seat, i) => this.seat(seat, options.runners[i]));
    this.look = setInterval(() => this.watch(), Math.max(CHECK_MS, options.timeoutMs));
    this.look.unref();
  }

  /**
   * One vector per text, in order. `onLeft` is told of each text of which the model does not read so many tokens.
   * Errors: overloaded when too many wait, unavailable after `timeoutMs` or when the runner ends,
   * embedding_unavailable.
   */
  embed(
    texts: string[],
    kind: EmbeddingKind,
    onLeft: (index: number, tokens: number) => void = () => undefined,
  ): Promise<Float32Array[]> {
    if (texts.length === 0) return Promise.resolve([]);
    if (this.isClosed) return Promise.reject(new QuiverError('unavailable', 'The service is shutting down'));
    const waiting = this.queue.waiting(kind);
    if (waiting > 0 && waiting + texts.length > WAITING_MAX[kind]) {
      return Promise.reject(
        new QuiverError('overloaded', 'Server busy: too many texts wait to be embedded; try again later', {
          details: { waiting, texts: texts.length },
        }),
      );
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () =>
          this.fail(
            call,
            new QuiverError('unavailable', 'Embedding took too long; the call may be retried, with fewer texts'),
          ),
        this.options.timeoutMs,
      );
      const call: Call = { vectors: new Array(texts.length), missing: texts.length, timer, onLeft, resolve, reject };
      this.calls.add(call);
      this.queue.add(
        kind,
        texts.map((text, index) => ({ text, call, index })),
      );
      for (const seat of this.seats) if (seat.runner === null) void this.refill(seat);
      this.dispatch();
    });
  }

  /** The tokens of each text. It waits for no other texts but those that a runner is at. Errors: as embed. */
  measure(texts: string[]): Promise<number[]> {
    const [seat] = this.seats.filter(({ runner }) => runner !== null).toSorted((a, b) => a.running - b.running);
    const runner = seat?.runner ?? null;
    if (this.isClosed || runner === null) {
      for (const one of this.seats) if (one.runner === null) void this.refill(one);
      return Promise.reject(
        new QuiverError('unavailable', 'No embedding worker is there at present; the call may be retried'),
      );
    }
    return inTime(
      runner.measure(texts),
      this.options.timeoutMs,
      () => new QuiverError('unavailable', 'Embedding took too long; the call may be retried, with fewer texts'),
    );
  }

  /** Ends every runner; calls under way fail. A runner that does not end soon is given up. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.look);
    for (const call of this.calls) this.fail(call, new QuiverError('unavailable', 'The service is shutting down'));
    await Promise.all(
      this.seats.map(async ({ runner }) => {
        if (runner !== null)
          await inTime(runner.close(), CLOSE_MS, () => new Error('late')).catch(() => runner.giveUp());
      }),
    );
  }

  private dispatch(): void {
    // First one request for each runner. A second request only keeps a runner from running idle.
    for (let round = 1; round <= REQUESTS_PER_RUNNER; round++) {
      for (const seat of this.seats) {
        if (seat.runner === null || seat.running >= round) continue;
        const batch = this.queue.take(this.bounds);
        if (batch === null) return;
        void this.run(seat, seat.runner, batch);
      }
    }
  }

  private async run(seat: Seat, runner: EmbeddingRunner, batch: WaitingText<Call>[]): Promise<void> {
    seat.running += 1;
    try {
      const { vectors, left } = await runner.embed(batch.map(({ text }) => text));
      batch.forEach(({ call, index }, row) => {
        if (left !== undefined && left[row] > 0) call.onLeft(index, left[row]);
        this.settle(call, index, vectors.slice(row * runner.dim, (row + 1) * runner.dim));
      });
    } catch (error) {
      await this.runAgain(seat, runner, batch, error);
    } finally {
      if (seat.runner === runner) {
        seat.running -= 1;
        seat.silentLooks = 0;
      }
    }
    this.dispatch();
  }

  /**
   * If the model fails on one text, the calls whose texts shared the batch must not fail. So run the texts one by one.
   */
  private async runAgain(
    seat: Seat,
    runner: EmbeddingRunner,
    batch: WaitingText<Call>[],
    error: unknown,
  ): Promise<void> {
    if (
      batch.length === 1 ||
      seat.runner !== runner ||
      !isQuiverError(error) ||
      error.kind !== 'embedding_unavailable'
    ) {
      for (const { call } of batch) this.fail(call, error);
    } else {
      for (const one of batch) await this.run(seat, runner, [one]);
    }
  }

  private settle(call: Call, index: number, vector: Float32Array): void {
    if (!this.calls.has(call)) return;
    call.vectors[index] = vector;
    call.missing -= 1;
    if (call.missing > 0) return;
    this.forget(call);
    call.resolve(call.vectors as Float32Array[]);
  }

  private fail(call: Call, error: unknown): void {
    if (!this.calls.has(call)) return;
    this.forget(call);
    this.queue.drop(call);
    call.reject(error);
  }

  private forget(call: Call): void {
    clearTimeout(call.timer);
    this.calls.delete(call);
  }

  private seat(seat: Seat, runner: EmbeddingRunner): void {
    seat.runner = runner;
    seat.running = 0;
    seat.silentLooks = 0;
    void runner.ended.then(() => {
      seat.runner = null;
      if (this.isClosed) return;
      this.options.log.warn({}, 'an embedding worker ended; another takes its place');
      void this.refill(seat);
    });
  }

  private watch(): void {
    for (const seat of this.seats) {
      seat.silentLooks = seat.running === 0 ? 0 : seat.silentLooks + 1;
      if (seat.runner === null || seat.silentLooks <= LOOKS_MAX) continue;
      this.options.log.error(
        {},
        'an embedding worker does not answer; it is given up, and its memory is not free before the process ends',
      );
      seat.runner.giveUp();
    }
  }

  /** If no runner is left and none can be started, the waiting calls fail; the next call tries again. */
  private async refill(seat: Seat): Promise<void> {
    if (seat.isStarting || this.isClosed) return;
    seat.isStarting = true;
    try {
      const runner = await this.options.restart();
      if (this.isClosed) return void runner.close();
      this.seat(seat, runner);
    } catch (error) {
      this.options.log.error({ error }, 'an embedding worker could not be started again');
      if (this.seats.every((other) => other.runner === null && (other === seat || !other.isStarting))) {
        for (const call of this.calls) this.fail(call, error);
      }
    } finally {
      seat.isStarting = false;
    }
    this.dispatch();
  }
}
