import type { ClusterStore, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { readableEntries, type UnreadableEntry } from '../readable-entries';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { outcomeTransaction, type StoreDedup } from '../idempotency/store-dedup';

const PREFIX = '/q/uploads/';

/** An upload that has begun and is neither complete nor wholly taken back. */
export interface OpenUpload {
  documentId: string;
  collection: string;
  /** The process that runs it, or that takes it back. */
  owner: string;
  /** Chunks of this number and above were never sent to be stored. */
  chunksEnd: number;
  /**
   * Wall-clock time at which another process took it back, while the last writes of its own process may have been under
   * way; otherwise null.
   */
  takenBackAtMs: number | null;
}

/** An upload as the journal has it now. */
export interface JournaledUpload {
  upload: OpenUpload;
  revision: number;
}

/**
 * Remembers open uploads in the cluster store, so that any process can take back the chunks of an upload that a crash
 * interrupted. The entry exists before the first chunk is written, and until the last one is written or all are deleted
 * again. Every change is guarded by the state before it. So a process that was wrongly taken for dead finds its upload
 * gone and can't complete it. Errors: those of the store; unavailable for an entry that another process has changed.
 */
export class UploadJournal {
  constructor(private readonly store: ClusterStore) {}

  /** Writes the entry, overwriting any other: for a new upload, and for one that its own process takes back. */
  async put(upload: OpenUpload): Promise<JournaledUpload> {
    const result = await this.store.transact([], [{ type: 'put', key: keyOf(upload), value: valueOf(upload) }]);
    return result.applied ? { upload, revision: result.revision } : lost();
  }

  async change(entry: JournaledUpload, change: Partial<OpenUpload>): Promise<JournaledUpload> {
    const upload = { ...entry.upload, ...change };
    const key = keyOf(upload);
    const result = await this.store.transact(
      [{ key, revision: entry.revision }],
      [{ type: 'put', key, value: valueOf(upload) }],
    );
    return result.applied ? { upload, revision: result.revision } : lost();
  }

  /** Resolves if the entry is unchanged. */
  async confirm(entry: JournaledUpload): Promise<void> {
    const found = await this.store.get(keyOf(entry.upload));
    if (found?.revision !== entry.revision) lost();
  }

  /** `once`: the outcome of the upload, which is complete now. */
  async close(entry: JournaledUpload, once?: { dedup: StoreDedup; result: unknown }): Promise<void> {
    const key = keyOf(entry.upload);
    const { guards, changes } = outcomeTransaction(once?.dedup, once?.result);
    const result = await this.store.transact(
      [{ key, revision: entry.revision }, ...guards],
      [{ type: 'delete', key }, ...changes],
    );
    if (!result.applied) lost();
  }

  /** `onUnreadable`: of those that can't be read, which are left out. */
  async list(onUnreadable?: (unreadable: UnreadableEntry) => void): Promise<JournaledUpload[]> {
    const { entries } = await this.store.list(PREFIX);
    return readableEntries(entries, uploadFromEntry, onUnreadable);
  }
}

/** Errors: storage_failed when the text is none. */
function uploadFromEntry({ key, value, revision }: StoreEntry): JournaledUpload {
  try {
    const facts = JSON.parse(value) as Omit<OpenUpload, 'documentId'>;
    if (typeof facts.collection === 'string' && Number.isSafeInteger(facts.chunksEnd))
      return { upload: { ...facts, documentId: key.slice(PREFIX.length) }, revision };
  } catch {
    // Said below.
  }
  throw new QuiverError('storage_failed', `the journaled upload at ${key} is unreadable`);
}

function keyOf(upload: OpenUpload): string {
  return PREFIX + upload.documentId;
}

function valueOf(upload: OpenUpload): string {
  const { documentId: _documentId, ...facts } = upload;
  return JSON.stringify(facts);
}

function lost(): never {
  throw new QuiverError(
    'unavailable',
    'the upload stood still for so long that it was taken back; it may be sent again',
  );
}
