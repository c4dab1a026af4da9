import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import { inTime } from '../../../shared/base/time/deadline';
import type { EmbeddingRunner } from './embedding-thread';
import { RunnerSeats, type Seat } from './runner-seats';
import { type BatchBounds, type TextLane, TextQueue, type WaitingText } from './text-queue';

/**
 * Measured on two cores with a model of MiniLM's size and one thread: batches of eight short texts run 1.3 to 1.9 times
 * as fast as single texts; beyond about 250 tokens in all it gets slower again.
 */
const TOGETHER: BatchBounds = { textsMax: 16, charactersMax: 1024, isPadded: true };
const ALONE: BatchBounds = { textsMax: 1, charactersMax: Infinity, isPadded: true };
/**
 * Texts that may wait. A call is accepted whatever its size if no text is waiting. A small model processes this many in
 * about ten seconds.
 */
const WAITING_MAX: Readonly<Record<TextLane, number>> = { query: 1024, passage: 4096, job: 4096 };

interface Call {
  vectors: (Float32Array | undefined)[];
  missing: number;
  timer: NodeJS.Timeout;
  onLeft: (index: number, tokens: number) => void;
  resolve: (vectors: Float32Array[]) => void;
  reject: (error: unknown) => void;
}

/**
 * Distributes texts over the runners of one model. Texts of different calls share batches if the model allows it.
 * Queries have priority, and jobs come last, but not always.
 */
export class EmbeddingDispatcher {
  private readonly queue: TextQueue<Call>;
  private readonly calls = new Set<Call>();
  private readonly seats: RunnerSeats<EmbeddingRunner>;
  private readonly bounds: BatchBounds;
  private isClosed = false;

  /**
   * Takes over `runners`, all of the same model. `timeoutMs` bounds a call; `restart` starts another runner of the same
   * kind. `bounds`, `requestsPerRunner`: default: as they are best for a model in a thread. `isOfOneText`: whether a
   * batch may have failed for one of its texts; default: where the model fails, and does not end. `jobsYield`: as the
   * queue of texts has it.
   */
  constructor(
    private readonly options: {
      runners: EmbeddingRunner[];
      restart: () => Promise<EmbeddingRunner>;
      timeoutMs: number;
      log: Pick<Logger, 'warn' | 'error'>;
      bounds?: BatchBounds;
      requestsPerRunner?: number;
      isOfOneText?: (error: unknown) => boolean;
      jobsYield?: boolean;
    },
  ) {
    this.queue = new TextQueue(options);
    this.bounds = options.bounds ?? (options.runners.every(({ isInvariant }) => isInvariant) ? TOGETHER : ALONE);
    this.seats = new RunnerSeats({
      ...options,
      what: 'an embedding worker',
      onSeated: () => this.dispatch(),
      onNone: (error) => {
        for (const call of this.calls) this.fail(call, error);
      },
    });
  }

  /**
   * One vector per text, in order. `onLeft` is told of each text of which the model does not read so many tokens.
   * Errors: overloaded when too many wait, unavailable after `timeoutMs` or when the runner ends,
   * embedding_unavailable.
   */
  embed(
    texts: string[],
    lane: TextLane,
    onLeft: (index: number, tokens: number) => void = () => undefined,
  ): Promise<Float32Array[]> {
    if (texts.length === 0) return Promise.resolve([]);
    if (this.isClosed) return Promise.reject(new QuiverError('unavailable', 'The service is shutting down'));
    const waiting = this.queue.waiting(lane);
    if (waiting > 0 && waiting + texts.length > WAITING_MAX[lane]) {
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
        lane,
        texts.map((text, index) => ({ text, call, index })),
      );
      this.seats.refill();
      this.dispatch();
    });
  }

  /** The tokens of each text. It waits for no other texts but those that a runner is at. Errors: as embed. */
  measure(texts: string[]): Promise<number[]> {
    if (texts.length === 0) return Promise.resolve([]);
    const [seat] = this.seats.all.filter(({ runner }) => runner !== null).toSorted((a, b) => a.running - b.running);
    const runner = seat?.runner ?? null;
    if (this.isClosed || runner === null) {
      this.seats.refill();
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
    for (const call of this.calls) this.fail(call, new QuiverError('unavailable', 'The service is shutting down'));
    await this.seats.close();
  }

  private dispatch(): void {
    for (const { seat, runner } of this.seats.free()) {
      const batch = this.queue.take(this.bounds, seat.running > 0);
      if (batch === null) return;
      void this.run(seat, runner, batch);
    }
  }

  private async run(seat: Seat<EmbeddingRunner>, runner: EmbeddingRunner, batch: WaitingText<Call>[]): Promise<void> {
    try {
      const { vectors, left } = await this.seats.during(seat, runner, () =>
        runner.embed(batch.map(({ text }) => text)),
      );
      batch.forEach(({ call, index }, row) => {
        if (left !== undefined && left[row] > 0) call.onLeft(index, left[row]);
        this.settle(call, index, vectors.slice(row * runner.dim, (row + 1) * runner.dim));
      });
    } catch (error) {
      await this.runAgain(seat, runner, batch, error);
    }
    this.dispatch();
  }

  /**
   * If the model fails on one text, the calls whose texts shared the batch must not fail. So run the texts one by one.
   */
  private async runAgain(
    seat: Seat<EmbeddingRunner>,
    runner: EmbeddingRunner,
    batch: WaitingText<Call>[],
    error: unknown,
  ): Promise<void> {
    const { isOfOneText = hasFailed } = this.options;
    if (batch.length === 1 || seat.runner !== runner || !isOfOneText(error)) {
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
}

function hasFailed(error: unknown): boolean {
  return isQuiverError(error) && error.kind === 'embedding_unavailable';
}
