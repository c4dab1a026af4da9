import { WatchedEntries, type Watched } from '../../../shared/cluster-store/entries/watched-entries';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';
import { collectionPath, collectionFromEntry, type DropIntent } from '../../service/collections/collection-record';
import { OwnedReshard } from './owned-reshard';
import { type DriverLeadership, OwnedEntry, Superseded } from '../driving/owned-entry';
import { obstacleOf } from '../driving/obstacle';
import { ReshardPass, type ReshardParts } from './reshard-pass';
import {
  dropChanges,
  otherSets,
  type ReshardRecord,
  type ReshardState,
  reshardFromEntry,
  RESHARDS_PREFIX,
} from '../../service/collections/reshard-record';

/** How often to look when nothing is heard of: for what only needs time. */
const CHECK_EVERY_MS = 1_000;
/** Between two attempts of a reshard that does not get on. */
const PAUSES = { firstMs: 500, longestMs: 30_000 };
/** The same while clients wait for it. */
const AWAITED_PAUSES = { firstMs: 500, longestMs: 2_000 };
const AWAITED: ReadonlySet<ReshardState> = new Set(['sealing', 'opening', 'cancelling']);
/** Between two looks whether the collection of one that is over, or stuck, is still there. */
const LEFT_CHECK_MS = 5_000;
/**
 * As long as clients are using old shards, or get on with it, others wait: each copies as fast as half a machine
 * allows.
 */
const FILLING_AT_ONCE = 1;

interface Attempts {
  backoff: RetryBackoff;
  notBeforeMs: number;
}

/**
 * Drives the reshards of all collections, one process at a time: in a cluster the controller, otherwise the only one.
 * What another process left, wherever it died, is taken over.
 */
export class Resharder {
  private readonly entries: WatchedEntries<ReshardRecord>;
  private readonly running = new Map<string, Promise<void>>();
  private readonly attempts = new Map<string, Attempts>();
  private readonly retiringSinceMs = new Map<string, number>();
  /** By id, what the last attempt met: the next one notes it, because it has a change to make in any case. */
  private readonly obstacles = new Map<string, string>();
  private readonly stopping = new AbortController();
  private timers: NodeJS.Timeout[] = [];

  /**
   * `retireMs`: how long old shards stay after others took their place, for processes that have not heard of it and
   * writes of unknown outcome. `drop` removes shards and then the intent to do so.
   */
  constructor(
    private readonly options: Omit<ReshardParts, 'stop'> & {
      leadership: DriverLeadership;
      retireMs: number;
      drop: (intent: DropIntent) => Promise<void>;
    },
  ) {
    const { store, log } = options;
    this.entries = new WatchedEntries({
      store,
      prefix: RESHARDS_PREFIX,
      decode: reshardFromEntry,
      onUnreadable: (error) => log.error({ error }, 'a reshard is unreadable and left alone'),
    });
  }

  /** Follows the cluster store and drives what is to be driven. Errors: unavailable. */
  async start(): Promise<void> {
    await this.entries.follow();
    this.entries.onChange(() => this.look());
    this.timers = [setInterval(() => this.look(), CHECK_EVERY_MS)];
    this.look();
  }

  async close(): Promise<void> {
    this.stopping.abort();
    for (const timer of this.timers) clearInterval(timer);
    this.entries.close();
    await Promise.all(this.running.values());
  }

  /** Begins what is due, unless it runs already. */
  private look(): void {
    if (this.stopping.signal.aborted) return;
    if (this.options.leadership.guard === null) {
      // Whoever becomes the controller waits for the whole time, whenever others began to.
      this.retiringSinceMs.clear();
      return;
    }
    const known = this.entries.all().sort((a, b) => (a.value.startedAt < b.value.startedAt ? -1 : 1));
    for (const { key } of known.filter((one) => !this.running.has(one.key) && this.isDue(one.value))) {
      const found = this.entries.get(key);
      if (found === null || !this.mayBegin(found)) continue;
      const run = this.drive(found)
        .then(
          (isToWait) => this.noteEnd(found, isToWait),
          (error: unknown) => this.noteFailure(found, error),
        )
        .finally(() => {
          this.running.delete(key);
          // What the next step is follows from the entry, which has changed most likely.
          setImmediate(() => this.look());
        });
      this.running.set(
        key,
        run.then(() => undefined),
      );
    }
    const steps = new Set(known.map(({ value }) => stepOf(value)));
    for (const step of this.attempts.keys()) if (!steps.has(step)) this.attempts.delete(step);
    const ids = new Set(known.map(({ value }) => value.id));
    for (const id of this.retiringSinceMs.keys()) if (!ids.has(id)) this.retiringSinceMs.delete(id);
    for (const id of this.obstacles.keys()) if (!ids.has(id)) this.obstacles.delete(id);
  }

  private mayBegin({ value }: Watched<ReshardRecord>): boolean {
    const nowMs = this.options.clock.monotonicMs();
    switch (value.state) {
      case 'retiring': {
        // By its id: another reshard of the collection may have begun and got as far meanwhile.
        const sinceMs = this.retiringSinceMs.get(value.id) ?? nowMs;
        this.retiringSinceMs.set(value.id, sinceMs);
        return nowMs - sinceMs >= this.options.retireMs;
      }
      case 'filling':
        // One that a backup has filled copies nothing.
        if (value.restored !== undefined) return true;
        return (
          [...this.running.keys()].filter((path) => isCopying(this.entries.get(path)?.value)).length < FILLING_AT_ONCE
        );
      case 'seeding':
      case 'sealing':
      case 'opening':
      case 'cancelling':
      case 'failed':
      case 'stuck':
        return true;
    }
  }

  private isDue(reshard: ReshardRecord): boolean {
    return (this.attempts.get(stepOf(reshard))?.notBeforeMs ?? 0) <= this.options.clock.monotonicMs();
  }

  /** Answers whether there is nothing to do for a while. */
  private async drive({ key, value }: Watched<ReshardRecord>): Promise<boolean> {
    const { store, leadership } = this.options;
    const entry = await store.get(key);
    if (entry === null) {
      await this.entries.refresh();
      return false;
    }
    const found = { record: reshardFromEntry(entry), revision: entry.revision };
    // It changed on the way here.
    if (found.record.state !== value.state) {
      this.entries.put(entry);
      return false;
    }
    if (found.record.state === 'seeding') return this.leaveToRestore(key, found);
    if ((found.record.state === 'failed' || found.record.state === 'stuck') && (await this.isLeft(found.record)))
      return true;
    if (found.record.state === 'failed') {
      await store.transact([{ key, revision: found.revision }], [{ type: 'delete', key }]);
      return true;
    }
    const owned = await OwnedReshard.take({ store, leadership }, found, this.obstacles.get(value.id));
    // As it is now: what follows may leave other sets.
    const before = owned.record;
    if (before.state === 'retiring') await owned.end(dropChanges(before));
    else await new ReshardPass(owned, { ...this.options, stop: this.stopping.signal }).run();
    await this.entries.refresh();
    if (owned.isEnded || owned.record.state === 'failed')
      for (const intent of otherSets(before)) await this.drop(intent);
    return false;
  }

  /**
   * Whose new shards are filled by a restore is in its hands. One that it has lost, because the cluster store was put
   * back, is given up. Answers whether there is nothing to do for a while.
   */
  private async leaveToRestore(
    key: string,
    { record, revision }: { record: ReshardRecord; revision: number },
  ): Promise<boolean> {
    this.attemptsAt(record).notBeforeMs = this.options.clock.monotonicMs() + LEFT_CHECK_MS;
    if (record.restored === undefined || (await this.options.restores.isRestoring(record.restored.restore)))
      return true;
    await new OwnedEntry(this.options, key, record, revision).change({
      state: 'cancelling',
      error: 'the restore that filled it is not known any more',
    });
    return false;
  }

  /**
   * A reshard that failed or is stuck is shown until the collection is gone, or there is another; one that failed for a
   * restore is the restore's to take back, as long as that is known. This answers whether it is to stay, now and then.
   */
  private async isLeft(record: ReshardRecord): Promise<boolean> {
    this.attemptsAt(record).notBeforeMs = this.options.clock.monotonicMs() + LEFT_CHECK_MS;
    if (record.state === 'failed' && record.restored !== undefined)
      return this.options.restores.isRestoring(record.restored.restore);
    const collection = await this.options.store.get(collectionPath(record.name));
    return collection !== null && collectionFromEntry(collection).identity === record.identity;
  }

  private async drop(intent: DropIntent): Promise<void> {
    await this.options
      .drop(intent)
      .catch((error: unknown) =>
        this.options.log.warn(
          { error, collection: intent.name, collectionUid: intent.uid },
          'shards of a reshard are left to be dropped later',
        ),
      );
  }

  private noteEnd({ value }: Watched<ReshardRecord>, isToWait: boolean): void {
    this.obstacles.delete(value.id);
    if (!isToWait) this.attempts.delete(stepOf(value));
  }

  private noteFailure({ value }: Watched<ReshardRecord>, error: unknown): void {
    const attempts = this.attemptsAt(value);
    attempts.notBeforeMs = this.options.clock.monotonicMs() + attempts.backoff.nextMs();
    if (this.stopping.signal.aborted) return;
    if (!(error instanceof Superseded)) this.obstacles.set(value.id, obstacleOf(error));
    const isUsual = error instanceof Superseded || isQuiverError(error);
    this.options.log[isUsual ? 'warn' : 'error'](
      { error, collection: value.name, reshard: value.id, state: value.state },
      'reshard step failed; retrying',
    );
  }

  private attemptsAt(reshard: ReshardRecord): Attempts {
    const attempts = this.attempts.get(stepOf(reshard)) ?? {
      backoff: new RetryBackoff(AWAITED.has(reshard.state) ? AWAITED_PAUSES : PAUSES),
      notBeforeMs: 0,
    };
    this.attempts.set(stepOf(reshard), attempts);
    return attempts;
  }
}

function isCopying(reshard: ReshardRecord | undefined): boolean {
  return reshard !== undefined && reshard.state === 'filling' && reshard.restored === undefined;
}

/** What may fail again and again. One that is given up, or begins again, need not wait for that. */
function stepOf({ id, state }: ReshardRecord): string {
  return `${id}/${state}`;
}
