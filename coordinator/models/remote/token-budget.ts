import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ClusterStore, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { Clock } from '../../../shared/base/time/clock';

/** What coordinators have taken of a provider's tokens of a day is one entry under this prefix. */
export const EMBEDDING_TOKENS_PREFIX = '/q/embedding-tokens/';

/** Of what is left of the day, the share that is taken with what a call needs, so that most calls cost no other. */
const SHARE = 1 / 64;
/** Others that take at the same moment. */
const ATTEMPTS_MAX = 20;

interface Taken {
  /** As 2026-11-30, in UTC. */
  day: string;
  tokens: number;
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

  private async taken(tokens: number): Promise<void> {
    const { provider, perDay, store, clock } = this.options;
    const day = new Date(clock.wallMs()).toISOString().slice(0, 10);
    if (day !== this.day) [this.day, this.left] = [day, 0];
    const key = EMBEDDING_TOKENS_PREFIX + provider;
    for (let attempt = 1; this.left < tokens; attempt += 1) {
      const entry = await store.get(key);
      const found = entry === null ? null : takenIn(entry);
      const before = found?.day === day ? found.tokens : 0;
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

  private spent(): QuiverError {
    const { provider, perDay } = this.options;
    return new QuiverError(
      'rate_limited',
      `The ${perDay} tokens that the embedding provider "${provider}" may use in a day are spent (tokens_per_day); ` +
        'there are others from 00:00 UTC on. Vectors may still be given',
    );
  }
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
