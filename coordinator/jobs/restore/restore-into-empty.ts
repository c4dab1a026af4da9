import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';
import {
  collectionFromEntry,
  collectionPath,
  type CollectionRecord,
} from '../../service/collections/collection-record';
import {
  isCancellable,
  type ReshardRecord,
  reshardFromEntry,
  reshardPath,
} from '../../service/collections/reshard-record';
import type { ReshardRequests } from '../reshard/reshard-requests';
import { type DriverLeadership, OwnedEntry, Superseded } from '../driving/owned-entry';
import { restoreFromEntry, type RestoreRecord } from '../backup/backup-record';
import { mustAgree } from './taken-names';

const PAUSES = { firstMs: 50, longestMs: 1_000 };
/** So many changes of other collections in a row, while it begins, and somebody else drives the restore most likely. */
const ATTEMPTS_MAX = 8;

export interface RestoreIntoParts {
  store: ClusterStore;
  leadership: DriverLeadership;
  reshards: Pick<ReshardRequests, 'plannedRestore' | 'mustBeEmpty'>;
  stop: AbortSignal;
}

/**
 * One collection of a restore that goes into a collection which is there and empty: a reshard whose new shards are
 * filled from the backup (docs/architecture/backup.md). The restore has them filled, and hands it over to whoever
 * drives reshards, who seals the old shards, sees that they are empty, and swaps.
 *
 *   begin ──▶ (the shards are filled) ──▶ handOver ──▶ outcome
 *      └────────────── undo ◀─────────────────┘
 */
export class RestoreIntoEmpty {
  /**
   * `record`: the collection as it will be, with the uid of its new shards and what they begin with; `at`: its place in
   * the restore.
   */
  constructor(
    private readonly owned: OwnedEntry<RestoreRecord>,
    private readonly parts: RestoreIntoParts,
    readonly record: CollectionRecord,
    private readonly at: number,
  ) {}

  /**
   * Errors: conflict when it is gone, is not empty, has other settings or gets other shards; limit_exceeded;
   * unavailable.
   */
  async begin(): Promise<void> {
    const { id } = this.owned.content;
    const { uid, shards, seed, replicas, minInSync, embeddingModel, synonyms, stopWords } = this.record;
    for (let attempt = 1; !this.isBegun; attempt += 1) {
      const present = await this.mustBeThere();
      this.mustStillAgree(present);
      const { guards, changes } = await this.parts.reshards.plannedRestore(
        present,
        { uid, shards },
        { restore: id, seed: seed!, replicas, minInSync, embeddingModel, synonyms, stopWords },
      );
      const collections = this.owned.content.collections.map((one, i) =>
        i === this.at ? { ...one, into: { begun: true } } : one,
      );
      try {
        // In one transaction, so that whoever goes on knows: what is begun and gone since has come to its end.
        await this.owned.change({ collections }, { guards, changes });
      } catch (error) {
        if (!(error instanceof Superseded) || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  }

  /** Whether the new shards are still to be filled, and not handed over, in service or given up. */
  async isSeeding(): Promise<boolean> {
    return (await this.reshard())?.record.state === 'seeding';
  }

  /** Errors: conflict when it was deleted meanwhile; unavailable. */
  async mustBeThere(): Promise<CollectionRecord> {
    const found = await this.collection();
    if (found === null)
      throw new QuiverError(
        'conflict',
        `collection "${this.record.name}" was deleted while a backup was restored into it`,
      );
    return found;
  }

  /** Its settings may have changed since the restore was asked for. Errors: conflict. */
  private mustStillAgree(present: CollectionRecord): void {
    try {
      mustAgree(present, this.record, this.owned.content.collections[this.at].from);
    } catch (error) {
      throw isQuiverError(error) ? new QuiverError('conflict', error.message, { cause: error }) : error;
    }
  }

  /** Errors: conflict when somebody wrote to it meanwhile, or it is gone. */
  async mustBeEmpty(): Promise<void> {
    if (await this.isSeeding()) await this.parts.reshards.mustBeEmpty(await this.mustBeThere());
  }

  /** The new shards have everything, and no seed: from here on it is a reshard that has nothing to copy. */
  async handOver(): Promise<void> {
    for (const pauses = new RetryBackoff(PAUSES); ;) {
      const found = await this.reshard();
      if (found?.record.state !== 'seeding') return;
      await this.change(found, { state: 'filling' });
      await this.pause(pauses);
    }
  }

  /**
   * Waits until the collection has its new shards, whatever became of it since. Errors: conflict with the reason when
   * it does not get them; unavailable.
   */
  async outcome(): Promise<void> {
    for (const pauses = new RetryBackoff(PAUSES); ;) {
      const found = await this.reshard();
      const { state, error } = found?.record ?? { state: null, error: null };
      if (state === 'failed' || state === 'stuck') throw this.nothingRestored(error);
      if (state === null || state === 'retiring') {
        // Whoever drives the reshard has noted it there.
        await this.owned.reload(restoreFromEntry);
        if (this.owned.content.state !== 'running') throw new Superseded('the restore was given up');
        if (this.isFinal || state === 'retiring') return;
        await this.mustBeThere();
        throw this.nothingRestored(null);
      }
      await this.pause(pauses);
    }
  }

  /**
   * The collection serves with its old shards again, and the new ones go; unless it is too late. Errors: unavailable.
   */
  async undo(): Promise<void> {
    if (!this.isBegun) return;
    for (const pauses = new RetryBackoff(PAUSES); ;) {
      const found = await this.reshard();
      if (found === null || found.record.state === 'retiring' || found.record.state === 'stuck') return;
      if (isCancellable(found.record)) await this.change(found, { state: 'cancelling', error: null });
      else if (found.record.state === 'failed') return this.ownedReshard(found).end();
      await this.pause(pauses);
    }
  }

  /** Its new shards have taken over, or are about to: there is no way back. */
  get isFinal(): boolean {
    return this.owned.content.collections[this.at].into?.isFinal === true;
  }

  private nothingRestored(error: string | null): QuiverError {
    return new QuiverError(
      'conflict',
      error ?? `nothing was restored into collection "${this.record.name}": its new shards were given up`,
    );
  }

  private get isBegun(): boolean {
    return this.owned.content.collections[this.at].into?.begun === true;
  }

  /** As long as it is this restore's. */
  private async reshard(): Promise<{ record: ReshardRecord; revision: number } | null> {
    const entry = await this.parts.store.get(reshardPath(this.record.identity));
    const record = entry === null ? null : reshardFromEntry(entry);
    return record !== null && record.to.uid === this.record.uid ? { record, revision: entry!.revision } : null;
  }

  private async collection(): Promise<CollectionRecord | null> {
    const entry = await this.parts.store.get(collectionPath(this.record.name));
    const found = entry === null ? null : collectionFromEntry(entry);
    return found !== null && found.identity === this.record.identity && found.state === 'ready' ? found : null;
  }

  private ownedReshard({ record, revision }: { record: ReshardRecord; revision: number }): OwnedEntry<ReshardRecord> {
    return new OwnedEntry(this.parts, reshardPath(record.identity), record, revision);
  }

  /** Whoever drives it may have changed it meanwhile: then it is looked at again. */
  private async change(
    found: { record: ReshardRecord; revision: number },
    change: Partial<ReshardRecord>,
  ): Promise<void> {
    await this.ownedReshard(found)
      .change(change)
      .catch((error: unknown) => {
        if (!(error instanceof Superseded) || this.parts.leadership.guard === null) throw error;
      });
  }

  private async pause(pauses: RetryBackoff): Promise<void> {
    const { stop } = this.parts;
    if (stop.aborted) throw new QuiverError('unavailable', 'the restore was stopped');
    await pauses.pause(stop);
    if (stop.aborted) throw new QuiverError('unavailable', 'the restore was stopped');
  }
}
