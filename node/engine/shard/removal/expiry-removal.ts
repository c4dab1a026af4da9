import { setTimeout as sleep } from 'node:timers/promises';
import type { ShardLogger } from '../shard-options';
import { slowInterval } from './slow-interval';

/** How often a shard is looked at for items that have expired. */
const CHECK_MS = 1_000;
/** Items of one write: some milliseconds. */
const BATCH_ITEMS = 500;
/** After each batch as long as it took, this many times: other writes have most of the time. */
const PAUSE_FACTOR = 3;
const PAUSE_MIN_MS = 10;

/**
 * Removes the records of items that have expired, by writes of bounded size, as long as there are any. They are gone
 * for every reader before that; this only gives back what they take. A batch that fails is tried again at the next
 * look.
 */
export class ExpiryRemoval {
  private readonly endLooks: () => void;
  private readonly ending = new AbortController();
  private running: Promise<void> | null = null;

  constructor(
    private readonly parts: {
      /** Whether there may be any; asked at each look. */
      mayBeAny: () => boolean;
      /** Ids of items to be removed. */
      expired: (limit: number) => Promise<string[]>;
      /** Removes those that have expired. Answers false where that is for another replica to do. */
      remove: (externalIds: string[]) => Promise<boolean>;
      logger: ShardLogger;
    },
  ) {
    this.endLooks = slowInterval(CHECK_MS, () => this.look());
  }

  /** Removes what has expired by now, as far as that is for this replica. Errors: those of the parts. */
  async drain(): Promise<void> {
    await this.running?.catch(() => undefined);
    this.running ??= this.run().finally(() => (this.running = null));
    await this.running;
  }

  /** Begins nothing more, and waits for the batch under way. */
  async close(): Promise<void> {
    this.endLooks();
    this.ending.abort();
    await this.running?.catch(() => undefined);
  }

  private look(): void {
    if (!this.parts.mayBeAny()) return;
    this.running ??= this.run()
      .catch((error: unknown) => {
        if (!this.ending.signal.aborted)
          this.parts.logger.warn({ error }, 'expired items could not be removed and are tried again');
      })
      .finally(() => (this.running = null));
  }

  private async run(): Promise<void> {
    const { signal } = this.ending;
    while (!signal.aborted) {
      const startMs = performance.now();
      const externalIds = await this.parts.expired(BATCH_ITEMS);
      if (externalIds.length === 0 || signal.aborted || !(await this.parts.remove(externalIds))) return;
      const pauseMs = Math.max(PAUSE_MIN_MS, PAUSE_FACTOR * (performance.now() - startMs));
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
