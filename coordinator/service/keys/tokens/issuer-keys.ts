import type { Logger } from '../../../../shared/base/logs/logger';
import type { Clock } from '../../../../shared/base/time/clock';
import { RetryBackoff } from '../../../../shared/base/time/retry-backoff';

/** A public key as JSON Web Key. */
export type PublicKey = Readonly<Record<string, unknown>>;

/** Reads the issuer's keys. Whatever it throws is for the log. */
export type ReadKeys = () => Promise<PublicKey[]>;

/** How often keys are read, and the least time between two readings that somebody asks for. */
export interface KeyTimes {
  refreshMs: number;
  /**
   * Anybody can send tokens that name keys which there are not: however many, the issuer is asked no more often than
   * this. An issuer shows a new key long before it signs with it, or is asked in time.
   */
  cooldownMs: number;
}

export const ISSUER_TIMES: KeyTimes = { refreshMs: 600_000, cooldownMs: 30_000 };
/** A file costs nothing to look at. */
export const FILE_TIMES: KeyTimes = { refreshMs: 5_000, cooldownMs: 1_000 };

/** An issuer that does not answer is asked again soon, and then more seldom. */
const FAILURE_PAUSES = { firstMs: 1_000, longestMs: 60_000 };

/**
 * The issuer's public keys, of which there is one copy in a process, on its main thread. They are read in the
 * background, again and again. While they can't be, those that were read last stay in force.
 */
export class IssuerKeys {
  private readonly followers = new Set<(keys: readonly PublicKey[]) => void>();
  private readonly backoff = new RetryBackoff(FAILURE_PAUSES);
  private known: readonly PublicKey[] | null = null;
  private text = '';
  private reading: Promise<void> | null = null;
  private nextAskMs = -Infinity;
  private readMs: number | null = null;
  private failures = 0;
  private complaint: string | null = null;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;

  constructor(
    private readonly parts: { read: ReadKeys; times: KeyTimes; clock: Pick<Clock, 'monotonicMs'>; log: Logger },
  ) {}

  /** Begins to read, without waiting for it. */
  start(): void {
    void this.read();
  }

  /** How many keys are known. */
  get count(): number {
    return this.known?.length ?? 0;
  }

  /** Seconds since they were read; null: they never were. */
  get ageSeconds(): number | null {
    return this.readMs === null ? null : (this.parts.clock.monotonicMs() - this.readMs) / 1_000;
  }

  /** Readings that failed since the start. */
  get failed(): number {
    return this.failures;
  }

  /** Tells the keys, if they are known, and from now on each change. Answers what ends that. */
  follow(follower: (keys: readonly PublicKey[]) => void): () => void {
    if (this.known !== null) follower(this.known);
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  /**
   * Reads the keys again for a token whose key is not known, unless that was done just now. Resolves also when it
   * failed.
   */
  async refresh(): Promise<void> {
    if (this.reading === null && this.parts.clock.monotonicMs() < this.nextAskMs) return;
    await this.read();
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private read(): Promise<void> {
    this.reading ??= this.readOnce().finally(() => (this.reading = null));
    return this.reading;
  }

  private async readOnce(): Promise<void> {
    const { read, times, clock, log } = this.parts;
    clearTimeout(this.timer);
    let pauseMs = times.refreshMs;
    try {
      const keys = await read();
      if (this.isClosed) return;
      this.take(keys);
      this.readMs = clock.monotonicMs();
      this.backoff.reset();
      if (this.complaint !== null) log.info({ keys: keys.length }, 'the keys of the tokens’ issuer can be read again');
      this.complaint = null;
    } catch (error) {
      if (this.isClosed) return;
      this.failures += 1;
      pauseMs = Math.min(pauseMs, this.backoff.nextMs());
      const complaint = String((error as Error).message);
      if (complaint !== this.complaint)
        log.error({ error }, 'the keys of the tokens’ issuer could not be read; those that are known stay in force');
      this.complaint = complaint;
    }
    // Without any keys, nothing but the pause after a failure keeps tokens from being taken.
    this.nextAskMs =
      clock.monotonicMs() +
      (this.known === null ? Math.min(FAILURE_PAUSES.firstMs, times.cooldownMs) : times.cooldownMs);
    this.timer = setTimeout(() => void this.read(), pauseMs);
    this.timer.unref();
  }

  private take(keys: readonly PublicKey[]): void {
    const text = JSON.stringify(keys);
    if (this.known !== null && text === this.text) return;
    this.known = keys;
    this.text = text;
    for (const follower of this.followers) follower(keys);
  }
}
