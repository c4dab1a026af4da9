import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ClusterStore, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { Clock } from '../../../shared/base/time/clock';

/** What coordinators have taken of a provider's tokens of a day is one entry under this prefix. */
export const EMBEDDING_TOKENS_PREFIX = '/q/embedding-tokens/';

/** Of what is left of the day, the share that is taken with what a call needs, so that most calls cost no other. */
const SHARE = 1 / 64;
/** Of the day, what jobs may come to with all others: the rest is for those who wait for an answer. */
const JOBS_SHARE = 0.8;
/** Code units of a text for a token of it, before anybody has counted them. */
const UNITS_PER_TOKEN = 4;
/** Others that take at the same moment. */
const ATTEMPTS_MAX = 20;

interface Taken {
  /** As 2026-11-30, in UTC. */
  day: string;
  tokens: number;
}

/** What a job asks for is more than is left for jobs. Less of it may be there. */
export class BeyondJobsShare extends QuiverError {
  constructor(message: string) {
    super('rate_limited', message);
  }
}

/**
 * The tokens that all processes of a cluster may spend with one provider in a day (UTC). They are taken from the
 * cluster store before a call, and what the provider counts is settled after it. So a process that dies spends what it
 * has taken, and calls under way may go over the limit by what they were underestimated.
 */
export class TokenBudget {
  private day = '';
  /** Taken from the store and not spent; below 0: spent and not taken. */
  private left = 0;
  /** What jobs are about to take, or have taken just now. */
  private ofJobs = 0;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly options: {
      provider: string;
      /** 0: any number. */
      perDay: number;
      store: Pick<ClusterStore, 'get' | 'transact'>;
      clock: Pick<Clock, 'wallMs'>;
    },
  ) {}

  /** Takes them before they are spent. Errors: rate_limited when the day has no more; unavailable. */
  async take(tokens: number): Promise<void> {
    if (this.options.perDay === 0) return;
    const taking = this.last.then(() => this.taken(tokens));
    this.last = taking.catch(() => undefined);
    await taking;
  }

  /** A call that had taken `taken` has spent `spent`. */
  settle(taken: number, spent: number): void {
    if (this.options.perDay > 0) this.left += taken - spent;
  }

  /**
   * Runs what takes about so many for a job. Errors: those of `run`; BeyondJobsShare when jobs have to leave the rest
   * of the day to others; unavailable.
   */
  async ofJob<Result>(tokens: number, run: () => Promise<Result>): Promise<Result> {
    if (this.options.perDay === 0) return run();
    const admitting = this.last.then(() => this.admit(tokens));
    this.last = admitting.catch(() => undefined);
    await admitting;
    try {
      return await run();
    } finally {
      this.ofJobs -= tokens;
    }
  }

  private async admit(tokens: number): Promise<void> {
    const { provider, perDay } = this.options;
    // No day would have room for it.
    if (tokens > perDay * JOBS_SHARE)
      throw new BeyondJobsShare(
        `A job embeds texts of about ${tokens} tokens at once, and jobs may use ${Math.floor(perDay * JOBS_SHARE)} of the ` +
          `${perDay} tokens that the embedding provider "${provider}" may use in a day (tokens_per_day): raise that`,
      );
    const { before } = await this.takenToday();
    if (before - this.left + this.ofJobs + tokens > this.options.perDay * JOBS_SHARE) throw this.leftToOthers();
    this.ofJobs += tokens;
  }

  /** What all processes have taken. */
  private async takenToday(): Promise<{ day: string; entry: StoreEntry | null; before: number }> {
    const { provider, store } = this.options;
    const day = this.today();
    const entry = await store.get(EMBEDDING_TOKENS_PREFIX + provider);
    const found = entry === null ? null : takenIn(entry);
    return { day, entry, before: found?.day === day ? found.tokens : 0 };
  }

  private today(): string {
    const day = new Date(this.options.clock.wallMs()).toISOString().slice(0, 10);
    if (day !== this.day) [this.day, this.left] = [day, 0];
    return day;
  }

  private async taken(tokens: number): Promise<void> {
    const { provider, perDay, store } = this.options;
    this.today();
    const key = EMBEDDING_TOKENS_PREFIX + provider;
    for (let attempt = 1; this.left < tokens; attempt += 1) {
      const { day, entry, before } = await this.takenToday();
      const needed = tokens - this.left;
      const free = perDay - before;
      if (needed > free) throw this.spent();
      const more = Math.min(free, needed + Math.floor((free - needed) * SHARE));
      const value = JSON.stringify({ day, tokens: before + more } satisfies Taken);
      const { applied } = await store.transact(
        [{ key, revision: entry?.revision ?? 0 }],
        [{ type: 'put', key, value }],
      );
      if (applied) this.left += more;
      else if (attempt === ATTEMPTS_MAX)
        throw new QuiverError('unavailable', `The tokens of the embedding provider "${provider}" could not be counted`);
    }
    this.left -= tokens;
  }

  private leftToOthers(): QuiverError {
    const { provider, perDay } = this.options;
    return new BeyondJobsShare(
      `Jobs leave a fifth of the ${perDay} tokens that the embedding provider "${provider}" may use in a day ` +
        'to searches and writes (tokens_per_day); they go on at 00:00 UTC',
    );
  }

  private spent(): QuiverError {
    const { provider, perDay } = this.options;
    return new QuiverError(
      'rate_limited',
      `The ${perDay} tokens that the embedding provider "${provider}" may use in a day are spent (tokens_per_day); ` +
        'there are others from 00:00 UTC on. Vectors may still be given',
    );
  }
}

/** What texts are likely to take. */
export function guessedTokens(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + 1 + Math.ceil(text.length / UNITS_PER_TOKEN), 0);
}

/** Errors: storage_failed. */
function takenIn({ key, value }: StoreEntry): Taken {
  try {
    const { day, tokens } = JSON.parse(value) as Taken;
    if (typeof day === 'string' && Number.isSafeInteger(tokens)) return { day, tokens };
  } catch (cause) {
    throw new QuiverError('storage_failed', `the stored count at ${key} is unreadable`, { cause });
  }
  throw new QuiverError('storage_failed', `the stored count at ${key} is unreadable`);
}
