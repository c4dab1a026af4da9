import { FAILURES_PREFIX } from '../../shared/cluster/members';
import { RegisteredEntry } from '../../shared/cluster/registered-entry';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import type { SessionStore } from '../../shared/cluster-store/session-store';
import type { Logger } from '../../shared/logs/logger';

/** Tells the cluster which shards a node holds a replica of and can't serve, as long as there are any. */
export class ReplicaFailures {
  private entry: RegisteredEntry | null = null;
  private told = '';

  constructor(private readonly options: { store: ClusterStore & SessionStore; nodeId: string; ttlSeconds: number; log: Logger }) {}

  /** `paths`: the shards' assignment paths. */
  tell(paths: string[]): void {
    const value = JSON.stringify(paths);
    if (value === this.told) return;
    this.told = value;
    if (paths.length === 0) {
      void this.entry?.close();
      this.entry = null;
    } else if (this.entry === null) {
      const { store, nodeId, ttlSeconds, log: logger } = this.options;
      this.entry = new RegisteredEntry({ store, key: FAILURES_PREFIX + nodeId, value, ttlSeconds, logger });
    } else {
      this.entry.update(value);
    }
  }

  async close(): Promise<void> {
    await this.entry?.close();
    this.entry = null;
  }
}
