import type { ClusterStore, StoreChange } from '../../../shared/cluster-store/cluster-store';
import { endedJob } from '../record/job-record';
import { reshardJob } from './reshard-job-view';
import { type DriverLeadership, OwnedEntry } from '../driving/owned-entry';
import { type ReshardRecord, reshardPath } from '../../service/collections/reshard-record';

/** The record of a reshard in the hands of its driver, in a term of its own. */
export class OwnedReshard {
  /** The record is gone. */
  isEnded = false;

  private constructor(private readonly entry: OwnedEntry<ReshardRecord>) {}

  /**
   * Takes the reshard over, in a new term. `waitsFor`: what this driver met the last time. Errors: Superseded;
   * unavailable.
   */
  static async take(
    parts: { store: ClusterStore; leadership: DriverLeadership },
    found: { record: ReshardRecord; revision: number },
    waitsFor?: string,
  ): Promise<OwnedReshard> {
    const owned = new OwnedReshard(
      new OwnedEntry(parts, reshardPath(found.record.identity), found.record, found.revision),
    );
    await owned.change({ term: found.record.term + 1, ...(waitsFor !== undefined && { waitsFor }) });
    return owned;
  }

  get record(): ReshardRecord {
    return this.entry.content;
  }

  /** As of an owned entry. */
  change(...change: Parameters<OwnedEntry<ReshardRecord>['change']>): Promise<void> {
    return this.entry.change(...change);
  }

  /** Removes the record, with other changes. Errors: as `change`. */
  async end(changes: StoreChange[]): Promise<void> {
    await this.entry.end(changes);
    this.isEnded = true;
  }

  /** What is kept of the job, to be stored with what ends it. That of a restore is not shown: the restore is. */
  endedJob(outcome: Parameters<typeof endedJob>[1], wallMs: number): StoreChange[] {
    const { record } = this;
    return record.restored === undefined ? [endedJob(reshardJob(record, wallMs), outcome, wallMs)] : [];
  }
}
