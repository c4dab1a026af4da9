import {
  type TimedLogPosition,
  type BackupManifest,
  isUnreadable,
  openedContent,
  sealedText,
  TEXT_BYTES_MAX,
} from '../../../shared/backup-store/backup-format';
import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { COLLECTION_HISTORY, LOGGED_STAGE } from '../../../shared/backup-store/content-schemas';
import { chainAfter, type LogChain, chainsOf } from '../../../shared/backup-store/log-chain';
import {
  type CollectionHistory,
  HEADS_PREFIX,
  HISTORIES_PREFIX,
  historyKey,
  type LoggedStage,
  LOG_PREFIX,
  type LogHead,
  type LogSegment,
  openedSegment,
  SEGMENT_BYTES_MAX,
  segmentOf,
  segmentsWith,
  shardName,
  stageOf,
  STAGES_PREFIX,
  TOLD,
  unsealedSegment,
} from '../../../shared/backup-store/log-format';
import { headsFromBytes } from '../../../shared/backup-store/log-heads';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { keptMoments } from './kept-moments';

/** A set of shards is forgotten so long after it was over, where no backup keeps anything of it. */
const FORGOTTEN_MS = 7 * 24 * 3_600_000;
const AT_ONCE = 8;
/** Before the first entry. */
const BEGINNING = { sequence: 0, epoch: 0 };

/** A collection's history as it is in the target. */
export type KnownHistory = CollectionHistory & {
  /** By this service. */
  isSealed: boolean;
};

/** What is known of one shard's log. */
export interface ShardLog {
  /** The newest that was told; null: nothing ever was. */
  head: LogHead | null;
  chains: LogChain[];
  /** The entry that closed it to clients for good, as far as is known; null: there is none. */
  closed: LoggedStage | null;
  /** Up to when nothing came behind entries, though there is a gap behind them now. */
  ends: LoggedStage[];
}

/** What members told of all logs. */
export interface ReportedLogs {
  heads: ReadonlyMap<string, LogHead>;
  /** By the names of shards: what changed their stages, and what was told of them before gaps. */
  stages: ReadonlyMap<string, LoggedStage[]>;
}

/** The logs of shards in one target, and the collections that they are of. */
export class ShippedLogs {
  constructor(readonly target: BackupTarget) {}

  /**
   * How far shards are, by their names: what was told in the latest epoch, by whoever was furthest in it. `isSealed`:
   * only by what this service has sealed.
   */
  async heads(isSealed = false): Promise<Map<string, LogHead>> {
    const found = new Map<string, LogHead>();
    for (const { key } of await this.target.list(HEADS_PREFIX)) {
      const bytes = await this.unlessUnreadable(key);
      const reported = bytes === null ? null : headsFromBytes(key, bytes, this.target.seals);
      if (isSealed && reported?.seal !== 'sealed') continue;
      for (const [name, head] of Object.entries(reported?.heads.shards ?? {})) {
        const known = found.get(name);
        if (known === undefined || isLater(head, known)) found.set(name, head);
      }
    }
    return found;
  }

  /**
   * What members told, in the order in which it is no more than what is true. `isSealed`: only what this service has
   * sealed.
   */
  async reported(isSealed = false): Promise<ReportedLogs> {
    const heads = await this.heads(isSealed);
    return { heads, stages: await this.stages(isSealed) };
  }

  /** Those that can be read: one that can't takes no other along. */
  async histories(): Promise<KnownHistory[]> {
    const histories: KnownHistory[] = [];
    for (const { key } of await this.target.list(HISTORIES_PREFIX)) {
      const bytes = await this.unlessUnreadable(key);
      const found = bytes === null ? null : this.historyIn(key, bytes);
      if (found !== null) histories.push(found);
    }
    return histories.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.fromMs - b.fromMs));
  }

  async putHistory(history: CollectionHistory, isSealed = true): Promise<void> {
    const key = historyKey(history.uid);
    await this.target.put(key, sealedText(history, isSealed ? { seals: this.target.seals, key } : undefined));
  }

  private historyIn(key: string, bytes: Buffer): KnownHistory | null {
    try {
      const { content, seal } = openedContent(COLLECTION_HISTORY, this.target.seals, key, bytes);
      if (historyKey(content.uid) !== key) return null;
      if (seal === 'sealed') return { ...content, isSealed: true };
      // Programs before seals noted no more than this, and anybody could have written the rest.
      const { name, uid, identity, record, shards, fromMs, toMs } = content;
      return { name, uid, identity, record, shards, fromMs, toMs, isSealed: false };
    } catch (error) {
      if (isUnreadable(error)) return null;
      throw error;
    }
  }

  /** null: there is none, or it can't be read, whoever tries. */
  private async unlessUnreadable(key: string): Promise<Buffer | null> {
    return this.target.get(key, TEXT_BYTES_MAX).catch((error: unknown) => {
      if (isUnreadable(error)) return null;
      throw error;
    });
  }

  /**
   * What changed the stages of shards, by their names, in the order of their logs. Read it after the heads. `isSealed`:
   * only what this service has sealed.
   */
  async stages(isSealed = false): Promise<Map<string, LoggedStage[]>> {
    const found = new Map<string, LoggedStage[]>();
    for (const { key } of await this.target.list(STAGES_PREFIX)) {
      const stage = stageOf(key);
      const name = nameIn(key, STAGES_PREFIX);
      if (stage === null || (isSealed && !(await this.isSealedStage(stage)))) continue;
      const stages = found.get(name);
      if (stages === undefined) found.set(name, [stage]);
      else stages.push(stage);
    }
    for (const [name, stages] of found) found.set(name, inForce(stages));
    return found;
  }

  private async isSealedStage({ key, ...named }: LoggedStage): Promise<boolean> {
    const bytes = await this.unlessUnreadable(key);
    try {
      const found = bytes === null ? null : openedContent(LOGGED_STAGE, this.target.seals, key, bytes);
      return (
        found?.seal === 'sealed' &&
        Object.entries(named).every(([what, value]) => found.content[what as keyof typeof named] === value)
      );
    } catch (error) {
      if (isUnreadable(error)) return false;
      throw error;
    }
  }

  /** A look at all segments of a log. */
  async logOf(collectionUid: string, shard: number, { heads, stages }: ReportedLogs): Promise<ShardLog> {
    const name = shardName({ collectionUid, shard });
    const objects = await this.target.list(`${LOG_PREFIX}${name}/`);
    return {
      head: heads.get(name) ?? null,
      chains: chainsOf(objects.flatMap((object) => segmentOf(object) ?? [])),
      closed: closedOf(stages.get(name) ?? []),
      ends: endsOf(stages.get(name) ?? []),
    };
  }

  /**
   * The same by what was told alone, without a look at each segment, where that says enough of what goes on from these
   * places (null: the beginning). null: it does not.
   */
  async reportedLogOf(
    collectionUid: string,
    shard: number,
    { heads, stages }: ReportedLogs,
    places: readonly (TimedLogPosition | null)[],
  ): Promise<ShardLog | null> {
    const name = shardName({ collectionUid, shard });
    const head = heads.get(name);
    if (
      head === undefined ||
      !places.every((place) => head.since === 1 || (place !== null && place.sequence >= head.since))
    )
      return null;
    const [closed, ends] = [closedOf(stages.get(name) ?? []), endsOf(stages.get(name) ?? [])];
    const { since, sequence: last, epoch: lastEpoch, untilMs } = head;
    if (last < since) return { head, chains: [], closed, ends };
    // It may have been removed when something else was kept.
    if (places.includes(null) && (await this.target.list(segmentsWith(name, 1))).length === 0) return null;
    const segment = { key: '', bytes: 0, first: since, last, precedingEpoch: 0, lastEpoch, fromMs: 0, toMs: untilMs };
    return { head, chains: [{ since, precedingEpoch: since === 1 ? 0 : NaN, segments: [segment] }], closed, ends };
  }

  /**
   * The last entry of a chain whose time is not after `ms`: one before `start`, if `start` itself is later. `start` if
   * the chain begins behind it with later ones. `isSealed`: as a restore takes it. Errors: storage_damaged, those of
   * the target.
   */
  async cut({ since, segments }: LogChain, start: number, ms: number, isSealed = false): Promise<number> {
    let last = Math.min(start, since - 1);
    for (const segment of segments) {
      if (segment.fromMs > ms) break;
      if (segment.toMs <= ms) last = Math.max(last, segment.last);
      else last = Math.max(last, await this.cutWithin(segment, ms, isSealed));
    }
    return last;
  }

  /**
   * Removes what no restore can use: entries before what is kept of a set of shards, and the logs of sets that are long
   * over and of which no backup keeps anything. `present`: the backups that are there, and those that others build
   * upon; `held`: collections, by their uids, of which all stays.
   */
  async sweep(present: readonly BackupManifest[], held: ReadonlySet<string>, wallMs: number): Promise<void> {
    const histories = await this.histories();
    const logs = (await this.target.list(LOG_PREFIX)).map((object) => ({
      key: object.key,
      name: nameIn(object.key, LOG_PREFIX),
      segment: segmentOf(object),
    }));
    const keptFrom = new Map<string, number>();
    const isBackedUp = new Set(present.flatMap(({ collections }) => collections.map(({ uid }) => uid)));
    for (const history of histories) {
      const { uid, shards } = history;
      const kept = keptMoments(history, histories, present);
      if (kept.isBackedUp) isBackedUp.add(uid);
      if (kept.hasBeginning) continue;
      for (let shard = 0; shard < shards; shard += 1) {
        keptFrom.set(
          shardName({ collectionUid: uid, shard }),
          Math.min(...kept.backups.map(({ places }) => places[shard]?.sequence ?? 0)),
        );
      }
    }
    // Of a set that never took over, nobody noted when it was over.
    const endedMs = new Map<string, number | null>();
    for (const { name, segment } of logs)
      endedMs.set(uidOf(name), Math.max(endedMs.get(uidOf(name)) ?? 0, segment?.toMs ?? 0));
    for (const { uid, toMs } of histories) endedMs.set(uid, toMs);
    const isGone = (uid: string): boolean => {
      const endMs = endedMs.get(uid) ?? null;
      return endMs !== null && !isBackedUp.has(uid) && !held.has(uid) && wallMs - endMs > FORGOTTEN_MS;
    };
    const removed: string[] = [];
    for (const { key, name, segment } of logs) {
      const uid = uidOf(name);
      if (segment !== null && !held.has(uid) && (segment.last <= (keptFrom.get(name) ?? 0) || isGone(uid)))
        removed.push(key);
    }
    const over = [...endedMs.keys()].filter(isGone);
    for (const uid of over) for (const { key } of await this.target.list(`${STAGES_PREFIX}${uid}.`)) removed.push(key);
    // The last of it: without a history, nobody would know when it was over.
    for (const { uid } of histories) if (isGone(uid)) removed.push(historyKey(uid));
    for (let at = 0; at < removed.length; at += AT_ONCE)
      await Promise.all(removed.slice(at, at + AT_ONCE).map((key) => this.target.delete(key)));
  }

  private async cutWithin(segment: LogSegment, ms: number, isSealed: boolean): Promise<number> {
    const bytes = await this.target.get(segment.key, SEGMENT_BYTES_MAX);
    if (bytes === null) throw new QuiverError('storage_damaged', `the backup is damaged: ${segment.key} is missing`);
    const { entries, seal } = openedSegment(segment, bytes, this.target.seals);
    if (isSealed && seal !== 'sealed') throw new QuiverError('storage_damaged', unsealedSegment(segment.key));
    return entries.findLast(({ at }) => at <= ms)?.sequence ?? 0;
  }
}

/** The way from a place of the log: the chain that goes on there, and up to when nothing of it is missing. */
export interface LogWay {
  /** null: nothing came after it. */
  chain: LogChain | null;
  last: number;
  untilMs: number;
}

/**
 * `replacedMs`: when others took the place of the set of shards, where that is known: a log that ends closed has
 * nothing to come until then. null: what came after the place is not there.
 */
export function wayFrom(
  { head, chains, closed, ends }: ShardLog,
  place: Pick<TimedLogPosition, 'sequence' | 'epoch'> | null,
  replacedMs?: number,
): LogWay | null {
  const from = place ?? BEGINNING;
  const chain = chainAfter(chains, from);
  const reportedOf = (sequence: number, epoch: number): number | null => {
    const reported = [...(head === null ? [] : [{ ...head, at: head.untilMs }]), ...ends].filter(
      (one) => one.sequence === sequence && one.epoch === epoch,
    );
    return reported.length === 0 ? null : Math.max(...reported.map(({ at }) => at));
  };
  if (chain === null) {
    const untilMs = reportedOf(from.sequence, from.epoch);
    return untilMs === null ? null : { chain, last: from.sequence, untilMs };
  }
  const end = chain.segments.at(-1)!;
  // Of its last moment there may be more to come.
  const untilMs = Math.max(end.toMs - 1, reportedOf(end.last, end.lastEpoch) ?? 0);
  if (closed === null || !holds(chain, closed)) return { chain, last: end.last, untilMs };
  // Others took its place after it was closed, and clients may write there.
  return { chain, last: end.last, untilMs: (replacedMs ?? closed.at) - 1 };
}

/**
 * When the new shards of a set were open to clients, all of them, by its stages; null: they are not, as far as is
 * known.
 */
export function openedMs(stages: readonly LoggedStage[][]): number | null {
  return allAt(stages, (own) => own.find((_, i) => wasFilled(own, i)));
}

/**
 * When all shards of a set that had been replaced were open to clients again within a time, after they had been filled
 * with what came meanwhile; null: they were not, as far as is known.
 */
export function reopenedMs(
  stages: readonly LoggedStage[][],
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): number | null {
  return allAt(stages, (own) => own.findLast(({ at }, i) => wasFilled(own, i) && at >= fromMs && at < untilMs));
}

/** Whether a shard was opened to clients by a stage, after it had been filled. */
function wasFilled(own: readonly LoggedStage[], at: number): boolean {
  return own[at].stage === 'open' && own[at - 1]?.stage === 'filling';
}

/** When all shards had come to a stage of theirs; null: some have not, as far as is known. */
function allAt(
  stages: readonly LoggedStage[][],
  stageIn: (own: LoggedStage[]) => LoggedStage | undefined,
): number | null {
  const times = stages.map((all) => stageIn(all.filter(({ stage }) => stage !== TOLD))?.at ?? null);
  return times.every((at) => at !== null) ? Math.max(...times) : null;
}

/** The entry that closed a shard to clients; null: it was not, or opened again. */
export function closedOf(stages: readonly LoggedStage[]): LoggedStage | null {
  const own = stages.filter(({ stage }) => stage !== TOLD);
  if (own.at(-1)?.stage !== 'closed') return null;
  // It may have been closed again by who went on.
  return own[own.findLastIndex(({ stage }) => stage !== 'closed') + 1];
}

function endsOf(stages: readonly LoggedStage[]): LoggedStage[] {
  return stages.filter(({ stage }) => stage === TOLD);
}

/** Those that changed something, or tell of a time, in their order. */
function inForce(stages: LoggedStage[]): LoggedStage[] {
  const found: LoggedStage[] = [];
  let before: Pick<LoggedStage, 'term'> & { stage: string | null } = { stage: null, term: 0 };
  for (const one of stages.sort((a, b) => a.sequence - b.sequence || a.epoch - b.epoch)) {
    if (one.stage !== TOLD) {
      if (before.term > one.term || (before.stage === 'open' && one.stage === 'filling')) continue;
      before = one;
    }
    found.push(one);
  }
  return found;
}

/** Whether an entry is one of the chain's, as far as the names of its segments tell. */
function holds({ since, segments }: LogChain, { sequence, epoch }: { sequence: number; epoch: number }): boolean {
  const segment =
    since <= sequence ? segments.find(({ first, last }) => first <= sequence && last >= sequence) : undefined;
  return segment !== undefined && segment.precedingEpoch <= epoch && epoch <= segment.lastEpoch;
}

/** The name of the shard that an object is of, and the uid in it. */
function nameIn(key: string, prefix: string): string {
  return key.slice(prefix.length).split('/')[0];
}

function uidOf(name: string): string {
  return name.split('.')[0];
}

function isLater(one: LogHead, other: LogHead): boolean {
  return (
    one.epoch - other.epoch > 0 ||
    (one.epoch === other.epoch &&
      (one.sequence > other.sequence || (one.sequence === other.sequence && one.untilMs > other.untilMs)))
  );
}
