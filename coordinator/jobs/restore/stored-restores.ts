import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { collectionFromEntry } from '../../service/collections/collection-record';
import type { FillingRestores } from '../reshard/reshard-pass';
import type { ExtraChanges } from '../driving/owned-entry';
import { type RestoreRecord, restoreFromEntry, restorePath } from '../backup/backup-record';

/** The restores in the cluster store, as whoever drives the reshards of their empty collections needs them. */
export class StoredRestores implements FillingRestores {
  constructor(private readonly store: ClusterStore) {}

  async isRestoring(id: string): Promise<boolean> {
    const entry = await this.store.get(restorePath(id));
    const state = entry === null ? null : restoreFromEntry(entry).state;
    return state === 'running' || state === 'cancelling';
  }

  async finalNote(id: string, uid: string): Promise<ExtraChanges> {
    const key = restorePath(id);
    const entry = await this.store.get(key);
    const record = entry === null ? null : restoreFromEntry(entry);
    if (entry === null || record?.state !== 'running') throw new QuiverError('conflict', `${id} was given up`);
    const collections = record.collections.map((one) =>
      one.into !== undefined && uidOf(one) === uid ? { ...one, into: { ...one.into, isFinal: true } } : one,
    );
    const noted: RestoreRecord = { ...record, collections };
    return {
      guards: [{ key, revision: entry.revision }],
      changes: [{ type: 'put', key, value: JSON.stringify(noted) }],
    };
  }
}

function uidOf({ record }: RestoreRecord['collections'][number]): string {
  return collectionFromEntry({ key: '', value: record }).uid;
}
