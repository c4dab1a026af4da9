import type { CollectionHistory, LogHead } from '../../../shared/backup-store/log-format';
import { shardName } from '../../../shared/backup-store/log-format';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../../service/readable-entries';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import {
  collectionFromEntry,
  type CollectionRecord,
  COLLECTIONS_PREFIX,
  collectionToValue,
} from '../../service/collections/collection-record';
import {
  ofSet,
  reshardFromEntry,
  type ReshardRecord,
  RESHARDS_PREFIX,
  type ShardSet,
} from '../../service/collections/reshard-record';
import { bySuccession, firstOrderOf } from './kept-moments';
import { closedOf, type KnownHistory, openedMs, reopenedMs, type ShippedLogs, type ReportedLogs } from './shipped-logs';

const CHECK_EVERY_MS = 2_000;

/**
 * Tells the backup target which collections there are, and from when to when: a log says what is in a collection, and
 * not what it is. One process at a time does it, and sees a change within seconds. When a set of shards took the place
 * of another one is taken from their logs: it is the moment at which the last of the new shards was opened.
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
    if (this.looking === null && nowMs - this.lookedMs >= CHECK_EVERY_MS) {
      this.lookedMs = nowMs;
      this.looking = this.compare()
        .catch((error: unknown) => {
          // Somebody else may have been at it meanwhile.
          this.known = null;
          this.parts.log.warn(
            { error },
            'which collections there are could not be told to the backup target; it is tried again',
          );
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
    // First the reshards: what they left is there no more once they are over.
    const left = readableEntries((await store.list(RESHARDS_PREFIX)).entries, reshardFromEntry).filter(
      ({ state }) => state === 'retiring' || state === 'kept',
    );
    // What is damaged says nothing: neither that the collection is there, nor that it was deleted.
    const damaged = new Set<string>();
    const records = readableEntries((await store.list(COLLECTIONS_PREFIX)).entries, collectionFromEntry, ({ key }) =>
      damaged.add(key.slice(COLLECTIONS_PREFIX.length)),
    ).filter(({ state }) => state === 'ready');
    for (const record of records) {
      const before = known.get(record.uid);
      const value = collectionToValue(record);
      if (before === undefined) {
        for (const set of [...setsBefore(record, left), record])
          if (!known.has(set.uid)) await this.put(this.begun(set, nowMs));
      } else if (before.toMs !== null) await this.reopen(before, record, records);
      // One that is not sealed is put again with what is known here: an earlier version wrote it, or somebody else.
      else if (before.record !== value || !before.isSealed) await this.put(this.renewed(before, record));
    }
    const present = new Set(records.map(({ uid }) => uid));
    const isOpen = (history: CollectionHistory): boolean =>
      history.awaits === true || (history.toMs === null && !present.has(history.uid)) || isPending(history);
    if (![...known.values()].some(isOpen)) return;
    const reported = await this.reported();
    for (const history of [...known.values()].sort(bySuccession))
      if (history.awaits === true) await this.noteExchange(history, reported);
    for (const { uid } of [...known.values()].filter(isPending)) await this.noteReturns(uid, reported);
    const latest = new Map<string, KnownHistory>();
    for (const history of known.values()) {
      const other = latest.get(history.identity);
      if (other === undefined || bySuccession(history, other) > 0) latest.set(history.identity, history);
    }
    for (const history of known.values())
      if (
        history.toMs === null &&
        !present.has(history.uid) &&
        !damaged.has(history.name) &&
        bySuccession(latest.get(history.identity)!, history) <= 0
      )
        await this.put({ ...history, toMs: deletedMs(history, { records, nowMs, reported }) }, history.isSealed);
  }

  /** A set of shards that was not known. Where it took the place of another one, that is known exactly later. */
  private begun(record: CollectionRecord, nowMs: number): CollectionHistory {
    const { uid, identity, createdAt } = record;
    const isFirst = identity === uid;
    return {
      ...namedBy(record),
      fromMs: isFirst ? Math.min(nowMs, Date.parse(createdAt)) : nowMs,
      toMs: null,
      order: this.nextOrder(),
      ...(!isFirst && { awaits: true }),
    };
  }

  /**
   * What is in use again: it took over again from those that had replaced it, which its log tells; or it was put back,
   * with all that the service knew, and what came behind it is no more.
   */
  private async reopen(
    history: KnownHistory,
    record: CollectionRecord,
    records: readonly CollectionRecord[],
  ): Promise<void> {
    const reported = await this.reported();
    const gone = [...this.known!.values()].filter(
      (other) => other.identity === history.identity && other.uid !== history.uid && other.toMs === null,
    );
    for (const other of gone)
      await this.put(
        { ...other, toMs: deletedMs(other, { records, nowMs: this.parts.clock.wallMs(), reported }) },
        other.isSealed,
      );
    const { away = [], replacedMs } = history;
    const seenMs = this.parts.clock.wallMs();
    await this.put({
      ...this.renewed(history, record),
      toMs: null,
      order: this.nextOrder(),
      firstOrder: firstOrderOf(history),
      ...(replacedMs !== undefined && { away: [...away, { fromMs: replacedMs, toMs: null, seenMs }] }),
    });
  }

  /** As soon as the logs say when others were in its place, or that they were not: then it was put back. */
  private async noteReturns(uid: string, reported: ReportedLogs): Promise<void> {
    for (const { seenMs } of (this.known!.get(uid)!.away ?? []).filter(({ toMs }) => toMs === null))
      await this.noteReturn(this.known!.get(uid)!, seenMs, reported);
  }

  private async noteReturn(history: CollectionHistory, givenMs: number, reported: ReportedLogs): Promise<void> {
    const { uid, shards, away = [] } = history;
    const at = away.findIndex(({ seenMs, toMs }) => seenMs === givenMs && toMs === null);
    const { fromMs, seenMs } = away[at];
    // What came later is of a later time away.
    const next = away.at(at + 1);
    const names = Array.from({ length: shards }, (_, shard) => shardName({ collectionUid: uid, shard }));
    const toMs = reopenedMs(
      names.map((name) => reported.stages.get(name) ?? []),
      { fromMs, untilMs: next?.fromMs ?? Infinity },
    );
    const isTold = names.every((name) => (reported.heads.get(name)?.untilMs ?? 0) >= seenMs);
    if (toMs === null && !isTold) return;
    const before = this.before(history, (other) => next === undefined || (toMs !== null && other.fromMs < toMs));
    // Nothing came to the others after they were closed.
    if (toMs !== null && before !== undefined && before.toMs !== null && before.toMs > fromMs)
      await this.put({ ...before, toMs, replacedMs: toMs }, before.isSealed);
    const settled = toMs === null ? [] : [{ fromMs, toMs, seenMs }];
    const spans = [...away.slice(0, at), ...settled, ...away.slice(at + 1)];
    const { away: _away, ...rest } = history;
    await this.put({ ...rest, ...(spans.length > 0 && { away: spans }) });
  }

  /**
   * The history of a set that is there: when it began, of one that anybody could have written, as far as that can be.
   */
  private renewed(history: KnownHistory, record: CollectionRecord): CollectionHistory {
    const { uid, identity, createdAt } = record;
    const nowMs = this.parts.clock.wallMs();
    const fromMs = history.isSealed
      ? history.fromMs
      : Math.min(nowMs, identity === uid ? Date.parse(createdAt) : history.fromMs);
    return { ...history, ...namedBy(record), fromMs };
  }

  /** The set before ends when this one begins, as soon as the logs say when that was. */
  private async noteExchange(history: KnownHistory, reported: ReportedLogs): Promise<void> {
    const stagesOf = ({
      uid,
      shards,
    }: CollectionHistory): ReportedLogs['stages'] extends ReadonlyMap<string, infer Stages> ? Stages[] : never =>
      Array.from({ length: shards }, (_, shard) => reported.stages.get(shardName({ collectionUid: uid, shard })) ?? []);
    const before = this.before(history);
    const closedMs =
      before === undefined ? 0 : Math.max(0, ...stagesOf(before).map((stages) => closedOf(stages)?.at ?? 0));
    const opened = openedMs(stagesOf(history));
    // All of the time before it was seen is shipped, and nothing tells of it: it is in a gap, or a member ships that
    // does not tell.
    const isUnreported =
      opened === null &&
      Array.from(
        { length: history.shards },
        (_, shard) => reported.heads.get(shardName({ collectionUid: history.uid, shard }))?.untilMs ?? 0,
      ).every((ms) => ms >= history.fromMs);
    if (opened === null && !isUnreported) return;
    const fromMs = opened ?? history.fromMs;
    if (before !== undefined && before.toMs === null) {
      // Where a clock was ahead, and is not any more, what was told of the shards before stays true beside the new
      // ones.
      const endMs = opened === null && closedMs > 0 ? closedMs : Math.max(fromMs, closedMs);
      await this.put({ ...before, toMs: endMs, replacedMs: endMs }, before.isSealed);
    }
    const { awaits: _awaits, ...rest } = history;
    await this.put({ ...rest, fromMs, toMs: history.toMs && Math.max(history.toMs, fromMs) }, history.isSealed);
  }

  /** The last of the sets of its collection that come before it, among those that are meant. */
  private before(
    history: CollectionHistory,
    isMeant: (other: KnownHistory) => boolean = () => true,
  ): KnownHistory | undefined {
    return [...this.known!.values()]
      .filter((other) => other.identity === history.identity && bySuccession(other, history) < 0 && isMeant(other))
      .sort(bySuccession)
      .at(-1);
  }

  private nextOrder(): number {
    return Math.max(0, ...[...this.known!.values()].map(({ order = 0 }) => order)) + 1;
  }

  /**
   * Who can write to the target must not say when sets ended; how far members of an earlier version are is not sealed,
   * and counts where nothing else is told.
   */
  private async reported(): Promise<ReportedLogs> {
    const { logs, clock } = this.parts;
    const nowMs = clock.wallMs();
    const heads = new Map<string, LogHead>();
    for (const [name, head] of await logs.heads()) heads.set(name, { ...head, untilMs: Math.min(head.untilMs, nowMs) });
    for (const [name, head] of await logs.heads(true)) heads.set(name, head);
    return { heads, stages: await logs.stages(true) };
  }

  /**
   * Nothing is known here of what an earlier version, or somebody else, wrote of shards that are gone: it gets no seal.
   */
  private async put(given: CollectionHistory & { isSealed?: boolean }, isSealed = true): Promise<void> {
    const { isSealed: _isSealed, ...history } = given;
    await this.parts.logs.putHistory(history, isSealed);
    this.known!.set(history.uid, { ...history, isSealed });
  }
}

/** When others were in its place is not known yet. */
function isPending({ away }: CollectionHistory): boolean {
  return away?.some(({ toMs }) => toMs === null) === true;
}

/** What a record tells of its set of shards. */
function namedBy(record: CollectionRecord): Pick<CollectionHistory, 'name' | 'uid' | 'identity' | 'record' | 'shards'> {
  const { name, uid, identity, shards } = record;
  return { name, uid, identity, record: collectionToValue(record), shards };
}

/**
 * The sets of shards that a collection had just before, as far as its last reshard has not left them yet; the earliest
 * first.
 */
function setsBefore(record: CollectionRecord, left: readonly ReshardRecord[]): CollectionRecord[] {
  const reshard = left.find((one) => one.identity === record.identity && presentOf(one).uid === record.uid);
  if (reshard === undefined) return [];
  // What is kept for a way back was there before.
  const before = presentOf(reshard) === reshard.from ? reshard.to : reshard.from;
  return [...reshard.earlier, before].map((set) => ofSet(record, set));
}

/** The set that clients use. */
function presentOf({ state, from, to }: Pick<ReshardRecord, 'state' | 'from' | 'to'>): ShardSet {
  return state === 'kept' ? from : to;
}

/**
 * When a collection was deleted, as it is seen now: before another one was made under its name, and after what was told
 * of it.
 */
function deletedMs(
  { name, uid, identity, shards, fromMs }: CollectionHistory,
  seen: { records: readonly CollectionRecord[]; nowMs: number; reported: ReportedLogs },
): number {
  const next = seen.records.find((record) => record.name === name && record.identity !== identity);
  const untils = Array.from(
    { length: shards },
    (_, shard) => seen.reported.heads.get(shardName({ collectionUid: uid, shard }))?.untilMs ?? 0,
  );
  return Math.max(
    fromMs,
    Math.min(seen.nowMs, next === undefined ? Infinity : Date.parse(next.createdAt)),
    Math.min(...untils) + 1,
  );
}
