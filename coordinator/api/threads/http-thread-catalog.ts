import type { CollectionCatalog } from '../../service/collections/collection-catalog';
import type { CollectionRecord } from '../../service/collections/collection-record';
import type { ThreadPeer } from '../../../shared/base/threads/thread-peer';

/**
 * The collections that calls of this thread have met. The main thread says which of them have changed, before it
 * answers whoever changed them.
 */
export class HttpThreadCatalog {
  private readonly records = new Map<string, CollectionRecord>();
  private changes = 0;

  constructor(private readonly main: Pick<ThreadPeer, 'ask'>) {}

  known(name: string): CollectionRecord | null {
    return this.records.get(name) ?? null;
  }

  /** Errors: not_found. */
  find(name: string): Promise<CollectionRecord> {
    return this.asked('catalog.find', name);
  }

  /** As it is in the store now. Errors: not_found; unavailable. */
  read(name: string): Promise<CollectionRecord> {
    return this.asked('catalog.read', name);
  }

  private async asked(question: 'catalog.find' | 'catalog.read', name: string): Promise<CollectionRecord> {
    const { changes } = this;
    const record = await this.main.ask<CollectionRecord>(question, name);
    // An answer may be older than a change that was told meanwhile.
    if (changes === this.changes) this.records.set(name, record);
    return record;
  }

  forget(name: string): void {
    this.changes += 1;
    this.records.delete(name);
  }
}

/** Tells an HTTP thread from now on which collections change. Answers what ends that. */
export function publishCollections(
  catalog: Pick<CollectionCatalog, 'onChange'>,
  peer: Pick<ThreadPeer, 'tell'>,
): () => void {
  return catalog.onChange((name) => peer.tell('catalog.forget', name));
}
