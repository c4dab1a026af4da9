import type { ClusterStore, StoreEntry } from '../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../shared/errors/quiver-error';

const PREFIX = '/q/uploads/';

/** An upload that has begun and is neither complete nor wholly taken back. */
export interface OpenUpload {
  documentId: string;
  collection: string;
  /** The process that runs it, or that takes it back. */
  owner: string;
  /** Chunks of this number and above were never sent to be stored. */
  chunksEnd: number;
  /** Wall-clock time at which another process than its own took it back, whose last writes may have been under way; else null. */
  takenBackAtMs: number | null;
}

/** An upload as the journal has it now. */
export interface JournaledUpload {
  upload: OpenUpload;
  revision: number;
}

/**
 * Remembers open uploads in the cluster store, so that any process can take back the chunks of one that a crash cut
 * short. An entry is there before the first chunk is written and until the last one is, or all are deleted again. Who
 * changes it names what it was: a process that was taken for dead finds its upload gone and cannot complete it.
 * Errors: those of the store; unavailable for an entry that another process has changed.
 */
export class UploadJournal {
  constructor(private readonly store: ClusterStore) {}

  /** Writes the entry whatever there was: for a new upload, and for one that is to be taken back by its own process. */
  async put(upload: OpenUpload): Promise<JournaledUpload> {
    const result = await this.store.transact([], [{ type: 'put', key: keyOf(upload), value: valueOf(upload) }]);
    return result.applied ? { upload, revision: result.revision } : lost();
  }

  async change(entry: JournaledUpload, change: Partial<OpenUpload>): Promise<JournaledUpload> {
    const upload = { ...entry.upload, ...change };
    const key = keyOf(upload);
    const result = await this.store.transact([{ key, revision: entry.revision }], [{ type: 'put', key, value: valueOf(upload) }]);
    return result.applied ? { upload, revision: result.revision } : lost();
  }

  /** Resolves if the entry is still as it was. */
  async confirm(entry: JournaledUpload): Promise<void> {
    const found = await this.store.get(keyOf(entry.upload));
    if (found?.revision !== entry.revision) lost();
  }

  async close(entry: JournaledUpload): Promise<void> {
    const key = keyOf(entry.upload);
    const result = await this.store.transact([{ key, revision: entry.revision }], [{ type: 'delete', key }]);
    if (!result.applied) lost();
  }

  async list(): Promise<JournaledUpload[]> {
    const { entries } = await this.store.list(PREFIX);
    return entries.map(({ key, value, revision }: StoreEntry) => ({
      upload: { ...(JSON.parse(value) as Omit<OpenUpload, 'documentId'>), documentId: key.slice(PREFIX.length) },
      revision,
    }));
  }
}

function keyOf(upload: OpenUpload): string {
  return PREFIX + upload.documentId;
}

function valueOf(upload: OpenUpload): string {
  const { documentId: _documentId, ...facts } = upload;
  return JSON.stringify(facts);
}

function lost(): never {
  throw new QuiverError('unavailable', 'the upload stood still for so long that it was taken back; it may be sent again');
}
