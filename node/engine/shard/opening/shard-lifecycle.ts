import { setTimeout as sleep } from 'node:timers/promises';
import { isDamage, QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { ShardSpec } from '../../../../shared/contract/shard/shard-client';
import { type BackoffPauses, RetryBackoff } from '../../../../shared/base/time/retry-backoff';

/**
 * Between attempts to open a shard again that can't be opened or written to, or fails again and again: a full disk may
 * last.
 */
export const REOPEN_PAUSES: BackoffPauses = { firstMs: 1_000, longestMs: 30_000 };

/** What is open at a place: a plain shard, or a replica with its log and links. */
interface Closable {
  close(reason: 'closed' | 'dropped'): Promise<void>;
}

/** `failed`: nothing is open, and it is tried again after a pause. `ended`: also while the last of it still closes. */
type LifecycleState = 'opening' | 'open' | 'closing' | 'failed' | 'ended';

/** What differs between the places of an embedded process and those of a cluster's node. */
export interface LifecycleDependencies<Held> {
  /**
   * Whether what failed is opened again only after a pause, which gives others the time to take over. Without it that
   * is done at once, though not twice within the first pause: for a shard that nobody else can answer for.
   */
  pausesFirst: boolean;
  /** Opens the shard, making it when it does not exist. Never throws at once. `ended`: aborted when the place ends. */
  open(ended: AbortSignal): Promise<Held>;
  onOpened?(held: Held): void;
  /** It could not be opened and is tried again after `retryMs`, unless the place is ended now. */
  onFailed(error: unknown, retryMs: number): void;
  /** Closes what failed. Never rejects: it is opened again whether it closed well or not. */
  closeFailed(held: Held): Promise<void>;
}

/**
 * The life of one shard in this process, from when it is to be here until it is not any more:
 *
 *   opening ───▶ open ─── reopen() ───▶ closing
 *     ▲  │                                 │
 *     │  ▼                                 │
 *   failed ◀───────────────────────────────┘      end(), from any of them ───▶ ended
 *
 * Whatever was opened is closed before the next is opened, and before `end` resolves.
 */
export class ShardLifecycle<Held extends Closable> {
  state: LifecycleState = 'opening';
  /** What is open, null while nothing is. Kept after `end`, whose last calls it may still answer. */
  open: Held | null = null;
  /** It failed, or could not be opened, and has not been opened since. */
  isFailing = false;
  /** Why the last attempt to open it failed, as long as it is not open. */
  failure: unknown = null;
  /**
   * That of the attempt under way, or of the last: resolves with what it opened. The first attempt after a failure
   * begins with closing what failed. Errors: those of `open` as long as it never was open; later on storage_damaged,
   * and unavailable for all else.
   */
  ready!: Promise<Held>;
  private readonly pauses: RetryBackoff;
  private readonly ending = new AbortController();
  /** Aborted when the place ends. */
  readonly ended = this.ending.signal;
  private openedAtMs = -Infinity;
  private closed: Promise<void> | null = null;

  /** Begins to open the shard. */
  constructor(
    readonly spec: ShardSpec,
    private readonly dependencies: LifecycleDependencies<Held>,
    private readonly pausesMs: BackoffPauses = REOPEN_PAUSES,
  ) {
    this.pauses = new RetryBackoff(pausesMs);
    this.follow(this.attempt());
  }

  get wasOpen(): boolean {
    return this.openedAtMs !== -Infinity;
  }

  /**
   * Closes what is open, because it can't be trusted any more, and opens it again, not before `leastMs`. What is being
   * opened has its turn first.
   */
  reopen(leastMs = 0): void {
    if (this.state === 'opening')
      void this.ready.then(
        () => this.reopen(leastMs),
        () => undefined,
      );
    const failed = this.open;
    if (this.state !== 'open' || failed === null) return;
    this.state = 'closing';
    this.open = null;
    this.isFailing = true;
    const sinceMs = performance.now() - this.openedAtMs;
    const pauseMs = this.dependencies.pausesFirst ? this.pauses.nextMs() : this.pausesMs.firstMs - sinceMs;
    this.follow(this.bringBack(failed, Math.max(leastMs, pauseMs)));
  }

  /** Closes what is open or about to be, and opens nothing more; idempotent. Errors: those of closing. */
  end(reason: 'closed' | 'dropped'): Promise<void> {
    this.state = 'ended';
    this.ending.abort();
    this.closed ??= this.ready.then(
      (held) => held.close(reason),
      () => undefined,
    );
    return this.closed;
  }

  private follow(attempt: Promise<Held>): void {
    attempt.catch(() => undefined);
    this.ready = attempt;
  }

  private async attempt(): Promise<Held> {
    this.state = 'opening';
    let held: Held;
    try {
      held = await this.dependencies.open(this.ended);
    } catch (error) {
      if (!this.ended.aborted) this.fail(error);
      // Calls are told of what an operator has to see to; all else may pass.
      if (!this.wasOpen || isDamage(error)) throw error;
      throw new QuiverError(
        'unavailable',
        'the shard is being brought back from its records; the call may be retried',
        { cause: error },
      );
    }
    if (this.ended.aborted) return held;
    this.state = 'open';
    this.open = held;
    this.isFailing = false;
    this.failure = null;
    this.openedAtMs = performance.now();
    this.pauses.reset();
    this.dependencies.onOpened?.(held);
    return held;
  }

  private fail(error: unknown): void {
    const retryMs = this.pauses.nextMs();
    this.state = 'failed';
    this.isFailing = true;
    this.failure = error;
    this.dependencies.onFailed(error, retryMs);
    void this.pause(retryMs).then((isOver) => isOver && this.follow(this.attempt()));
  }

  private async bringBack(failed: Held, pauseMs: number): Promise<Held> {
    await this.dependencies.closeFailed(failed);
    if (!this.ended.aborted) this.state = 'failed';
    if (!(await this.pause(pauseMs))) throw shuttingDown();
    return this.attempt();
  }

  /** False when the place was ended before. */
  private async pause(ms: number): Promise<boolean> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.ended, ref: false }).catch(() => undefined);
    return !this.ended.aborted;
  }
}

/** What is open at some places. */
export function openAt<Held extends Closable>(lifecycles: Iterable<ShardLifecycle<Held>>): Held[] {
  return [...lifecycles].flatMap(({ open }) => (open === null ? [] : [open]));
}

/** What `look` answers of all that is open at some places; what closes meanwhile is left out. */
export async function lookAt<Held extends Closable, Seen>(
  lifecycles: Iterable<ShardLifecycle<Held>>,
  look: (held: Held) => Promise<Seen>,
): Promise<Seen[]> {
  const seen = await Promise.allSettled(openAt(lifecycles).map(look));
  return seen.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

/** What calls are told that this process can't serve any more. */
export function shuttingDown(): QuiverError {
  return new QuiverError('unavailable', 'the node is shutting down');
}

/** Resolves when all have ended, whichever of them fails. Errors: that of the first that failed. */
export async function allEnded(endings: Iterable<Promise<void>>): Promise<void> {
  const failed = (await Promise.allSettled(endings)).find((ended) => ended.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
