import type { ClusterStore, Guard, StoreChange } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError } from '../../../shared/errors/quiver-error';
import { type ReshardRecord, reshardPath, reshardToValue } from './reshard-record';

/** Somebody else has changed the reshard, or drives it now. */
export class Superseded extends Error {}

/** Who may drive reshards: the elected controller, by its entry. null: not this process. */
export interface ReshardOffice {
  readonly guard: Guard | null;
}

/** In the embedded form, there is nobody else. */
export const ONLY_DRIVER: ReshardOffice & { guard: Guard } = { guard: { key: '', revision: 0 } };

/** The record of a reshard in the hands of its driver: every change is made only if nobody else made one. */
export class OwnedReshard {
  /** The record is gone. */
  isEnded = false;

  private constructor(
    private readonly parts: { store: ClusterStore; office: ReshardOffice },
    private current: ReshardRecord,
    private revision: number,
  ) {}

  /** Takes the reshard over, in a new term. Errors: Superseded; unavailable. */
  static async take(parts: { store: ClusterStore; office: ReshardOffice }, found: { record: ReshardRecord; revision: number }): Promise<OwnedReshard> {
    const owned = new OwnedReshard(parts, found.record, found.revision);
    await owned.change({ term: found.record.term + 1 });
    return owned;
  }

  get record(): ReshardRecord {
    return this.current;
  }

  /** Errors: Superseded; unavailable. */
  async change(change: Partial<ReshardRecord>, beside: { guards: Guard[]; changes: StoreChange[] } = { guards: [], changes: [] }): Promise<void> {
    const record = { ...this.current, ...change };
    const key = reshardPath(record.identity);
    const value = reshardToValue(record);
    this.revision = await this.transact(beside.guards, [{ type: 'put', key, value }, ...beside.changes], value);
    this.current = record;
  }

  /** Removes the record, with other changes. Errors: as `change`. */
  async end(changes: StoreChange[]): Promise<void> {
    await this.transact([], [{ type: 'delete', key: reshardPath(this.current.identity) }, ...changes], null);
    this.isEnded = true;
  }

  /** Answers the revision. When the answer is lost, the entry says what became of it: `value` is of this change alone. */
  private async transact(guards: Guard[], changes: StoreChange[], value: string | null): Promise<number> {
    const { store, office } = this.parts;
    const key = reshardPath(this.current.identity);
    if (office.guard === null) throw new Superseded('another coordinator is the controller');
    const officeGuards = office === ONLY_DRIVER ? [] : [office.guard];
    try {
      const result = await store.transact([{ key, revision: this.revision }, ...guards, ...officeGuards], changes);
      if (!result.applied) throw new Superseded('the reshard, or what it depends on, was changed by somebody else');
      return result.revision;
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'commit_unknown') throw error;
      const entry = await store.get(key);
      if ((entry?.value ?? null) !== value || entry?.revision === this.revision) throw new Superseded('a change of the reshard was not confirmed');
      return entry?.revision ?? 0;
    }
  }
}
