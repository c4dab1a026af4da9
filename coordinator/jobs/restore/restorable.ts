import type { BackupManifest } from '../../../shared/backup-store/backup-format';
import type { CollectionHistory } from '../../../shared/backup-store/log-format';
import { shardName } from '../../../shared/backup-store/log-format';
import type { RestorableView } from '../../service/service';
import { keptMoments, type LogBase } from '../backup/kept-moments';
import { type LogWay, type ShardLog, type ShippedLogs, type ReportedLogs, wayFrom } from '../backup/shipped-logs';

/** From when to when a set of shards can be restored from one base, both ends included. */
export interface Reach {
  fromMs: number;
  untilMs: number;
  /** By shard. */
  ways: LogWay[];
}

/** null: the logs of some shards do not go on from there. */
export function reachFrom(
  base: LogBase,
  { shards, fromMs, toMs, replacedMs }: CollectionHistory,
  logs: readonly ShardLog[],
): Reach | null {
  if (base.places.length !== shards) return null;
  const ways = logs.map((log, shard) => wayFrom(log, base.places[shard], replacedMs));
  if (!ways.every((way) => way !== null)) return null;
  const end = toMs === null ? Infinity : toMs - 1;
  return {
    fromMs: Math.max(fromMs, ...base.places.map((place) => place?.at ?? 0)),
    untilMs: Math.min(end, ...ways.map(({ untilMs }) => untilMs)),
    ways,
  };
}

/** The places of a base; of the beginning, none for each shard. */
export function beginningOf({ shards }: CollectionHistory): LogBase {
  return { id: '', places: Array.from({ length: shards }, () => null) };
}

/**
 * What can be restored of a set of shards and stays so as long as `manifests`, the backups that are there, are kept: an
 * answer for each stretch of time, the earliest first; one without times where there is none. Errors: those of the
 * target.
 */
export async function restorableOf(
  history: CollectionHistory,
  parts: {
    logs: ShippedLogs;
    reported: ReportedLogs;
    manifests: readonly BackupManifest[];
    histories: readonly CollectionHistory[];
  },
): Promise<RestorableView[]> {
  const { name, uid, shards, toMs } = history;
  const { backups, hasBeginning } = keptMoments(history, parts.histories, parts.manifests);
  const bases = backups.filter(({ places }) => places.every((place) => place !== null));
  if (hasBeginning) bases.push(beginningOf(history));
  const logs = await Promise.all(
    Array.from({ length: shards }, async (_, shard) => {
      const places = bases.map((base) => base.places[shard] ?? null);
      return (
        (await parts.logs.reportedLogOf(uid, shard, parts.reported, places)) ??
        parts.logs.logOf(uid, shard, parts.reported)
      );
    }),
  );
  const reaches = bases
    .map((base) => reachFrom(base, history, logs))
    .filter((reach) => reach !== null && reach.fromMs <= reach.untilMs);
  const view = {
    name,
    deletedAt: toMs === null ? null : iso(toMs),
    shards: Array.from({ length: shards }, (_, shard) => {
      const head = parts.reported.heads.get(shardName({ collectionUid: uid, shard })) ?? null;
      return {
        shard,
        position: head?.sequence ?? null,
        gaps: head?.gaps ?? 0,
        error: head?.error ?? (head === null ? 'nothing was shipped yet' : null),
      };
    }),
  };
  const stretches = withoutAway(stretchesOf(reaches as Reach[]), history);
  if (stretches.length === 0) return [{ ...view, from: null, until: null }];
  return stretches.map(({ fromMs, untilMs }) => ({ ...view, from: iso(fromMs), until: iso(untilMs) }));
}

/** What several reaches have together. */
function stretchesOf(reaches: readonly Reach[]): { fromMs: number; untilMs: number }[] {
  const stretches: { fromMs: number; untilMs: number }[] = [];
  for (const { fromMs, untilMs } of [...reaches].sort((a, b) => a.fromMs - b.fromMs)) {
    const before = stretches.at(-1);
    if (before !== undefined && fromMs <= before.untilMs + 1) before.untilMs = Math.max(before.untilMs, untilMs);
    else stretches.push({ fromMs, untilMs });
  }
  return stretches;
}

/** Others were in its place then, and their logs have what came. */
function withoutAway(
  stretches: readonly { fromMs: number; untilMs: number }[],
  { away = [] }: CollectionHistory,
): { fromMs: number; untilMs: number }[] {
  return away
    .reduce(
      (left, { fromMs, toMs }) =>
        left.flatMap((one) => [
          { fromMs: one.fromMs, untilMs: Math.min(one.untilMs, fromMs - 1) },
          { fromMs: Math.max(one.fromMs, toMs ?? Infinity), untilMs: one.untilMs },
        ]),
      [...stretches],
    )
    .filter((one) => one.fromMs <= one.untilMs);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
