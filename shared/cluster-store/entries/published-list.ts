import { RegisteredEntry } from './registered-entry';
import type { ClusterStore } from '../cluster-store';
import type { SessionStore } from '../session-store';
import type { Logger } from '../../base/logs/logger';

/**
 * A list that a process publishes to the cluster at `key`, as JSON. The entry exists as long as the list is not empty
 * and the process lives.
 */
export class PublishedList {
  private entry: RegisteredEntry | null = null;
  private published = '';

  constructor(
    private readonly options: { store: ClusterStore & SessionStore; key: string; ttlSeconds: number; log: Logger },
  ) {}

  publish(list: readonly unknown[]): void {
    const value = JSON.stringify(list);
    if (value === this.published) return;
    this.published = value;
    if (list.length === 0) {
      void this.entry?.close();
      this.entry = null;
    } else if (this.entry === null) {
      const { store, key, ttlSeconds, log: logger } = this.options;
      this.entry = new RegisteredEntry({ store, key, value, ttlSeconds, logger });
    } else {
      this.entry.update(value);
    }
  }

  async close(): Promise<void> {
    await this.entry?.close();
    this.entry = null;
  }
}
