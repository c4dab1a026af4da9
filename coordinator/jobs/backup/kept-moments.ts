import type { BackupManifest, TimedLogPosition } from '../../../shared/backup-store/backup-format';
import type { CollectionHistory } from '../../../shared/backup-store/log-format';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import { collectionFromEntry } from '../../service/collections/collection-record';

/** What a log may go on from: a backup, or with the id '' and no places, the beginning of the set of shards. */
export interface LogBase {
  id: string;
  /** By shard. */
  places: (TimedLogPosition | null)[];
}

/** What is kept of the moments of one set of shards. */
export interface KeptMoments {
  /** Backups of this set, in the order of the manifests. */
  backups: LogBase[];
  /** Whether its log is kept from the beginning on, which then is a base as well. */
  hasBeginning: boolean;
  /** Whether a backup is why anything is kept. Otherwise it goes some time after the set is over. */
  isBackedUp: boolean;
}

/**
 * Which moments of a set of shards are kept, and so offered, as long as these backups are there: those since the oldest
 * backup that has its collection, or was asked for everything. Where that is older than the set, that is all of them,
 * be the set new because the collection is, or because its number of shards changed, or it was restored. Without any
 * backup of the set nothing of it is removed. `histories`: all that are known.
 */
export function keptMoments(
  history: CollectionHistory,
  histories: readonly CollectionHistory[],
  manifests: readonly BackupManifest[],
): KeptMoments {
  const backups: LogBase[] = [];
  let isOldest = true;
  let hasOlder = false;
  for (const manifest of manifests) {
    const own = manifest.collections.find(({ uid }) => uid === history.uid);
    if (own !== undefined) {
      isOldest = false;
      backups.push({ id: manifest.id, places: own.shards.map(({ position }) => position ?? null) });
    } else if (isOlder(manifest, history, histories)) hasOlder = true;
  }
  return { backups, hasBeginning: hasOlder || isOldest, isBackedUp: hasOlder || !isOldest };
}

/** The moments of which set come later: by the order in which they were noted, where that is known. */
export function bySuccession(a: CollectionHistory, b: CollectionHistory): number {
  return (a.order ?? 0) - (b.order ?? 0) || a.fromMs - b.fromMs;
}

/**
 * Whether a backup without this set is of the time before it, and reaches to it: clocks decide only where nothing else
 * does.
 */
function isOlder(
  { startedAt, collections, isOfSome }: BackupManifest,
  history: CollectionHistory,
  histories: readonly CollectionHistory[],
): boolean {
  const before = collections.find((one) => identityOf(one) === history.identity);
  if (before === undefined) return isOfSome !== true && Date.parse(startedAt) <= history.fromMs;
  const other = histories.find(({ uid }) => uid === before.uid);
  return other === undefined ? Date.parse(startedAt) <= history.fromMs : bySuccession(other, history) < 0;
}

/** A record that can't be read says no more than its uid. */
function identityOf({ uid, record }: BackupManifest['collections'][number]): string {
  try {
    return collectionFromEntry({ key: '', value: record }).identity;
  } catch (error) {
    if (isQuiverError(error)) return uid;
    throw error;
  }
}
