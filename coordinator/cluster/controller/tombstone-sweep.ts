import { tombstonePath, TOMBSTONES_PREFIX } from '../../../shared/cluster-store/entries/tombstones';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import { DROPS_PREFIX } from '../../service/collections/collection-record';
import type { ClusterMap } from '../cluster-map';
import type { ControllerLeadership } from './controller';

/**
 * How long a tombstone is kept. A node that is away for longer keeps what it has of the collection, until an operator
 * removes it: that costs room on its disk and nothing else. By then its other replicas have long been made again.
 */
const KEPT_MS = 7 * 24 * 3_600_000;
const EVERY_MS = 600_000;
/** Removed in one transaction; etcd accepts 128 changes. */
const AT_ONCE = 100;

/** A task of the controller: removes tombstones that no node waits for any more, so that they don't pile up. */
export class TombstoneSweep {
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly options: {
      store: ClusterStore;
      map: ClusterMap;
      leadership: ControllerLeadership;
      clock: Clock;
      log: Logger;
    },
  ) {
    this.timer = setInterval(() => {
      this.sweep().catch((error: unknown) =>
        options.log.debug({ error }, 'old tombstones could not be removed; it is tried again'),
      );
    }, EVERY_MS);
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** Removes what is due, unless another coordinator is the controller. Answers how many. Errors: unavailable. */
  async sweep(): Promise<number> {
    const { store, leadership, clock, map } = this.options;
    const old = map.tombstones.all().filter(({ value }) => clock.wallMs() - Date.parse(value) > KEPT_MS);
    if (leadership.guard === null || old.length === 0) return 0;
    // Whose shards are still being dropped: for those, the time of the tombstone says nothing yet.
    const dropping = new Set(
      (await store.list(DROPS_PREFIX)).entries.map(({ key }) => tombstonePath(key.slice(DROPS_PREFIX.length))),
    );
    const assigned = new Set(map.assignments.all().map(({ value }) => tombstonePath(value.spec.collectionUid)));
    const due = old.filter(({ key }) => !dropping.has(key) && !assigned.has(key));
    let count = 0;
    for (let from = 0; from < due.length; from += AT_ONCE) {
      const some = due.slice(from, from + AT_ONCE);
      const { guard } = leadership;
      if (guard === null) break;
      const guards = [...some.map(({ key, revision }) => ({ key, revision })), guard];
      const result = await store
        .transact(
          guards,
          some.map(({ key }) => ({ type: 'delete' as const, key })),
        )
        .catch(orUnknown);
      if (result?.applied === true) count += some.length;
    }
    if (count > 0) this.options.log.info({ count, prefix: TOMBSTONES_PREFIX }, 'old tombstones were removed');
    return count;
  }
}

/** null for a lost answer: the next sweep finds what is left. */
function orUnknown(error: unknown): null {
  if (isQuiverError(error) && error.kind === 'commit_unknown') return null;
  throw error;
}
