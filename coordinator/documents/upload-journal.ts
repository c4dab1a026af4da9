import type { ClusterStore } from '../../shared/cluster-store/cluster-store';

const PREFIX = '/q/uploads/';

/** An upload that has begun and is neither complete nor wholly taken back. */
export interface OpenUpload {
  documentId: string;
  collection: string;
  /** The process that runs it. */
  owner: string;
  /** Chunks are written in order, this many at a time, each batch after the one before it is durable. */
  batchSize: number;
}

/**
 * Remembers open uploads in the cluster store, so that the chunks of one that a crash cut short can be taken back. An
 * entry is there before the first chunk is written and until the last one is, or all are deleted again.
 */
export class UploadJournal {
  constructor(private readonly store: ClusterStore) {}

  async open(upload: OpenUpload): Promise<void> {
    const { documentId, ...facts } = upload;
    await this.store.transact([], [{ type: 'put', key: PREFIX + documentId, value: JSON.stringify(facts) }]);
  }

  async close(documentId: string): Promise<void> {
    await this.store.transact([], [{ type: 'delete', key: PREFIX + documentId }]);
  }

  async list(): Promise<OpenUpload[]> {
    const { entries } = await this.store.list(PREFIX);
    return entries.map(({ key, value }) => ({ ...(JSON.parse(value) as Omit<OpenUpload, 'documentId'>), documentId: key.slice(PREFIX.length) }));
  }
}
