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
  const isOwn = ({ uid }: BackupManifest['collections'][number]): boolean => uid === history.uid;
  const owns = manifests.flatMap((manifest) => {
    const own = manifest.collections.find(isOwn);
    if (own !== undefined)
      backups.push({ id: manifest.id, places: own.shards.map(({ position }) => position ?? null) });
    return own === undefined ? [] : [{ manifest, own }];
  });
  // Of a set that took over again, what came then goes on from a backup of its time before, if there is one.
  const isCovered = (other: CollectionHistory): boolean =>
    owns.some(({ manifest, own }) => takenMs(manifest, own) <= other.fromMs);
  const hasOlder = manifests.some(
    (manifest) => !manifest.collections.some(isOwn) && isOlder(manifest, history, { histories, isCovered }),
  );
  return { backups, hasBeginning: hasOlder || owns.length === 0, isBackedUp: hasOlder || owns.length > 0 };
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
  manifest: BackupManifest,
  history: CollectionHistory,
  {
    histories,
    isCovered,
  }: { histories: readonly CollectionHistory[]; isCovered: (other: CollectionHistory) => boolean },
): boolean {
  const startedMs = Date.parse(manifest.startedAt);
  const before = manifest.collections.find((one) => identityOf(one) === history.identity);
  if (before === undefined) return manifest.isOfSome !== true && startedMs <= history.fromMs;
  const other = histories.find(({ uid }) => uid === before.uid);
  if (other === undefined) return startedMs <= history.fromMs;
  if (bySuccession(other, history) < 0) return isFirst(other, history) || !isCovered(other);
  // It took over again after this set: of which of its times the backup is, the logs say.
  return isFirst(other, history) && takenMs(manifest, before) <= history.fromMs;
}

/** Whether a set began before another one did, wherever it is by now. */
function isFirst(set: CollectionHistory, other: CollectionHistory): boolean {
  return (firstOrderOf(set) - firstOrderOf(other) || set.fromMs - other.fromMs) < 0;
}

/** Its order when it began. */
export function firstOrderOf({ order = 0, firstOrder, away }: CollectionHistory): number {
  // An earlier version has noted that it took over again, and not when it began: before all that came in its place.
  return firstOrder ?? (away === undefined ? order : 0);
}

/** When a backup was taken, by the logs of the shards, where it says so. */
function takenMs({ startedAt }: BackupManifest, { shards }: BackupManifest['collections'][number]): number {
  return Math.max(...shards.map(({ position }) => position?.at ?? Date.parse(startedAt)));
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
