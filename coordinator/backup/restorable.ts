import type { BackupManifest } from '../../shared/backup/backup-format';
import type { CollectionHistory, LogHead } from '../../shared/backup/log-format';
import { shardName } from '../../shared/backup/log-format';
import type { RestorableView } from '../service';

/**
 * From when to when a collection can be restored, by what members told: without a look at each object. `manifests`: the
 * backups that are there.
 */
export function restorableOf(history: CollectionHistory, heads: ReadonlyMap<string, LogHead>, manifests: readonly BackupManifest[]): RestorableView {
  const { name, uid, shards, fromMs, toMs } = history;
  const known = Array.from({ length: shards }, (_, shard) => heads.get(shardName({ collectionUid: uid, shard })) ?? null);
  const places = manifests.flatMap(({ collections }) => collections.filter((one) => one.uid === uid).map((one) => one.shards.map(({ position }) => position ?? null)));
  const usable = places.filter((all) => all.length === shards && all.every((place, shard) => place !== null && place.sequence >= (known[shard]?.since ?? Infinity) - 1));
  const starts = usable.map((all) => Math.max(...all.map((place) => place!.at)));
  // What is before the oldest backup is swept away.
  if (places.length === 0 && known.every((head) => head?.since === 1)) starts.push(fromMs);
  const untilMs = Math.min(...known.map((head) => head?.untilMs ?? 0), toMs === null ? Infinity : toMs - 1);
  const from = Math.min(...starts);
  const isPossible = from <= untilMs;
  return {
    name,
    deletedAt: toMs === null ? null : iso(toMs),
    from: isPossible ? iso(from) : null,
    until: isPossible ? iso(untilMs) : null,
    shards: known.map((head, shard) => ({ shard, position: head?.sequence ?? null, gaps: head?.gaps ?? 0, error: head?.error ?? (head === null ? 'nothing was shipped yet' : null) })),
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
