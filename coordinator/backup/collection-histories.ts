import type { CollectionHistory } from '../../shared/backup/log-format';
import type { ClusterStore } from '../../shared/cluster-store/cluster-store';
import type { Logger } from '../../shared/logs/logger';
import type { Clock } from '../../shared/time/clock';
import { collectionFromEntry, COLLECTIONS_PREFIX, collectionToValue } from '../collections/collection-record';
import type { KnownHistory, ShippedLogs } from './shipped-logs';

const LOOK_EVERY_MS = 2_000;

/**
 * Tells the backup target which collections there are, and from when to when: a log says what is in a collection, and not
 * what it is. One process at a time does it, and sees a change within seconds.
 */
export class CollectionHistories {
  /** What the target has; null: it was not looked at yet. */
  private known: Map<string, KnownHistory> | null = null;
  private lookedMs = -Infinity;
  private looking: Promise<void> | null = null;

  constructor(private readonly parts: { store: ClusterStore; logs: ShippedLogs; clock: Clock; log: Logger }) {}

  /** Looks, if that is due. Never rejects. */
  look(): Promise<void> {
    const nowMs = this.parts.clock.monotonicMs();
    if (this.looking === null && nowMs - this.lookedMs >= LOOK_EVERY_MS) {
      this.lookedMs = nowMs;
      this.looking = this.compare()
        .catch((error: unknown) => {
          // Somebody else may have been at it meanwhile.
          this.known = null;
          this.parts.log.warn({ error }, 'which collections there are could not be told to the backup target; it is tried again');
        })
        .finally(() => (this.looking = null));
    }
    return this.looking ?? Promise.resolve();
  }

  /** Another process may go on with it. */
  forget(): void {
    this.known = null;
  }

  private async compare(): Promise<void> {
    const { store, logs, clock } = this.parts;
    const nowMs = clock.wallMs();
    const known = (this.known ??= new Map((await logs.histories()).map((history) => [history.uid, history])));
    const records = (await store.list(COLLECTIONS_PREFIX)).entries.map(collectionFromEntry).filter(({ state }) => state === 'ready');
    // Nothing is known here of what an earlier version, or somebody else, wrote of a collection that is gone: it gets no seal.
    const put = async (history: CollectionHistory, isSealed = true): Promise<void> => {
      await logs.putHistory(history, isSealed);
      known.set(history.uid, { ...history, isSealed });
    };
    for (const record of records) {
      const { uid, identity, name, shards, createdAt } = record;
      const value = collectionToValue(record);
      const before = known.get(uid);
      // One that is not sealed is put again with what is known here: an earlier version wrote it, or somebody else.
      if (before?.record === value && before.toMs === null && before.isSealed) continue;
      // Another set of shards is used from some moment of the last seconds on.
      const fromMs = before?.fromMs ?? (identity === uid ? Math.min(nowMs, Date.parse(createdAt)) : nowMs);
      await put({ name, uid, identity, record: value, shards, fromMs, toMs: null });
    }
    const present = new Set(records.map(({ uid }) => uid));
    for (const { isSealed, ...history } of known.values()) if (history.toMs === null && !present.has(history.uid)) await put({ ...history, toMs: nowMs }, isSealed);
  }
}
