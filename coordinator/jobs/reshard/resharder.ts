import { WatchedEntries, type Watched } from '../../../shared/cluster-store/entries/watched-entries';
import { collectionPath, collectionFromEntry, type DropIntent } from '../../service/collections/collection-record';
import { OwnedReshard } from './owned-reshard';
import { type DrivenWork, JobDriver, type Runs } from '../driving/job-driver';
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

/** Between two attempts of a reshard that does not get on. */
const PAUSES = { firstMs: 500, longestMs: 30_000 };
/** The same while clients wait for it. */
const AWAITED_PAUSES = { firstMs: 500, longestMs: 2_000 };
const AWAITED: ReadonlySet<ReshardState> = new Set(['sealing', 'opening', 'cancelling']);
/** Between two looks at what shards note for one that is paused. */
const PAUSED_CHECK_MS = 60_000;
/** Between two looks whether the collection of one that is over, or stuck, is still there. */
const LEFT_CHECK_MS = 5_000;
/**
 * As long as clients are using old shards, or get on with it, others wait: each copies as fast as half a machine
 * allows.
 */
const FILLING_AT_ONCE = 1;

/**
 * Drives the reshards of all collections, one process at a time: in a cluster the controller, otherwise the only one.
 * What another process left, wherever it died, is taken over.
 */
export class Resharder implements DrivenWork<ReshardRecord> {
  readonly name = 'a reshard';
  readonly entries: WatchedEntries<ReshardRecord>;
  private readonly driver: JobDriver<ReshardRecord>;
  private readonly retiringSinceMs = new Map<string, number>();
  /** By id, what the last attempt met: the next one notes it, because it has a change to make in any case. */
  private readonly obstacles = new Map<string, string>();

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
    this.driver = new JobDriver<ReshardRecord>(this, options);
  }

  /** Errors: unavailable. */
  start(): Promise<void> {
    return this.driver.start();
  }

  close(): Promise<void> {
    return this.driver.close();
  }

  /** What may fail again and again. One that is given up, or begins again, need not wait for that. */
  stepOf({ id, state, reembed }: ReshardRecord): string {
    return `${id}/${state}/${reembed?.wanted ?? ''}/${reembed?.isPaused === true ? 'paused' : ''}`;
  }

  /** What follows clients, or embeds, does not learn by itself that somebody wants something else. */
  isOvertaken({ reembed, state }: ReshardRecord, now: ReshardRecord | null): boolean {
    if (reembed === undefined || now?.reembed === undefined) return false;
    return (
      now.reembed.wanted !== reembed.wanted ||
      now.reembed.isPaused !== reembed.isPaused ||
      now.reembed.keepHours !== reembed.keepHours ||
      (now.state === 'cancelling') !== (state === 'cancelling')
    );
  }

  pausesOf({ state }: ReshardRecord): { firstMs: number; longestMs: number } {
    return AWAITED.has(state) ? AWAITED_PAUSES : PAUSES;
  }

  facts({ name, id, state }: ReshardRecord): object {
    return { collection: name, reshard: id, state };
  }

  *due({ isRunning, isResting }: Runs<ReshardRecord>): Iterable<Watched<ReshardRecord>> {
    const known = this.entries.all().sort((a, b) => (a.value.startedAt < b.value.startedAt ? -1 : 1));
    const ids = new Set(known.map(({ value }) => value.id));
    const retiring = new Set(known.map(({ value }) => retiringKey(value)));
    for (const key of this.retiringSinceMs.keys()) if (!retiring.has(key)) this.retiringSinceMs.delete(key);
    for (const id of this.obstacles.keys()) if (!ids.has(id)) this.obstacles.delete(id);
    for (const found of known)
      if (!isRunning(found.key) && !isResting(found) && this.mayBegin(found, isRunning)) yield found;
  }

  rest(): void {
    // Whoever becomes the controller waits for the whole time, whenever others began to.
    this.retiringSinceMs.clear();
  }

  private mayBegin({ value }: Watched<ReshardRecord>, isRunning: Runs<ReshardRecord>['isRunning']): boolean {
    const nowMs = this.options.clock.monotonicMs();
    switch (value.state) {
      case 'retiring':
        return nowMs - this.retiringSince(value, nowMs) >= this.options.retireMs;
      case 'kept':
        return value.reembed?.wanted === 'back' || nowMs - this.retiringSince(value, nowMs) >= this.options.retireMs;
      case 'ready':
        return true;
      case 'filling':
        // It only looks.
        if (value.reembed?.isPaused === true) return true;
        // One that a backup has filled copies nothing.
        if (value.restored !== undefined) return true;
        return (
          this.entries.all().filter((one) => isRunning(one.key) && isAlike(one.value, value)).length < FILLING_AT_ONCE
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

  private retiringSince(record: ReshardRecord, nowMs: number): number {
    const key = retiringKey(record);
    const sinceMs = this.retiringSinceMs.get(key) ?? nowMs;
    this.retiringSinceMs.set(key, sinceMs);
    return sinceMs;
  }

  async run({ key, value }: Watched<ReshardRecord>, stop: AbortSignal): Promise<number> {
    try {
      const restMs = await this.advance({ key, value }, stop);
      this.obstacles.delete(value.id);
      return restMs;
    } catch (error) {
      // Somebody wants something else of it: that is no failure, and what is wanted now is begun at once.
      if (value.reembed === undefined || !stop.aborted) throw error;
      return 0;
    }
  }

  noteFailure({ value }: Watched<ReshardRecord>, error: unknown): void {
    if (!(error instanceof Superseded)) this.obstacles.set(value.id, obstacleOf(error));
  }

  /** Answers how long there is nothing to do. */
  private async advance(
    { key, value }: Pick<Watched<ReshardRecord>, 'key' | 'value'>,
    stop: AbortSignal,
  ): Promise<number> {
    const { store, leadership } = this.options;
    const entry = await store.get(key);
    if (entry === null) {
      await this.entries.refresh();
      return 0;
    }
    const found = { record: reshardFromEntry(entry), revision: entry.revision };
    // It changed on the way here.
    if (found.record.state !== value.state) {
      this.entries.put(entry);
      return 0;
    }
    if (found.record.state === 'seeding') return this.leaveToRestore(key, found);
    if ((found.record.state === 'failed' || found.record.state === 'stuck') && (await this.isLeft(found.record)))
      return LEFT_CHECK_MS;
    if (found.record.state === 'failed') {
      await store.transact([{ key, revision: found.revision }], [{ type: 'delete', key }]);
      return LEFT_CHECK_MS;
    }
    const owned = await OwnedReshard.take({ store, leadership }, found, this.obstacles.get(value.id));
    // As it is now: what follows may leave other sets.
    const before = owned.record;
    if (before.state === 'retiring') await owned.end(dropChanges(before));
    else await new ReshardPass(owned, { ...this.options, stop }).run();
    await this.entries.refresh();
    if (owned.record.reembed?.isPaused === true && owned.record.state === before.state) return PAUSED_CHECK_MS;
    if (owned.isEnded || owned.record.state === 'failed')
      for (const intent of otherSets(before)) await this.drop(intent);
    return 0;
  }

  /**
   * Whose new shards are filled by a restore is in its hands. One that it has lost, because the cluster store was put
   * back, is given up. Answers how long there is nothing to do.
   */
  private async leaveToRestore(
    key: string,
    { record, revision }: { record: ReshardRecord; revision: number },
  ): Promise<number> {
    if (record.restored === undefined || (await this.options.restores.isRestoring(record.restored.restore)))
      return LEFT_CHECK_MS;
    await new OwnedEntry(this.options, key, record, revision).change({
      state: 'cancelling',
      error: 'the restore that filled it is not known any more',
    });
    return 0;
  }

  /**
   * A reshard that failed or is stuck is shown until the collection is gone, or there is another; one that failed for a
   * restore is the restore's to take back, as long as that is known. This answers whether it is to stay, now and then.
   */
  private async isLeft(record: ReshardRecord): Promise<boolean> {
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
}

/** By its id: another reshard of the collection may have begun and got as far meanwhile. */
function retiringKey({ id, state }: ReshardRecord): string {
  return `${id}/${state}`;
}

/** Whether it copies what another one waits for, too: those that embed take the model, for hours, and no disk. */
function isAlike({ state, restored, reembed }: ReshardRecord, other: ReshardRecord): boolean {
  if (reembed?.isPaused === true) return false;
  return state === 'filling' && restored === undefined && (reembed === undefined) === (other.reembed === undefined);
}
