import { type LogPlace, type BackupManifest, isUnreadable, openedContent, sealedText, TEXT_BYTES_MAX } from '../../shared/backup/backup-format';
import type { BackupTarget } from '../../shared/backup/backup-target';
import { COLLECTION_HISTORY } from '../../shared/backup/content-schemas';
import { chainAfter, type LogChain, chainsOf } from '../../shared/backup/log-chain';
import {
  type CollectionHistory,
  HEADS_PREFIX,
  HISTORIES_PREFIX,
  historyKey,
  LOG_PREFIX,
  type LogHead,
  type LogSegment,
  openedSegment,
  SEGMENT_BYTES_MAX,
  segmentOf,
  shardName,
  unsealedSegment,
} from '../../shared/backup/log-format';
import { headsFromBytes } from '../../shared/backup/log-heads';
import { QuiverError } from '../../shared/errors/quiver-error';

/** A collection that was deleted is forgotten so long after, where no backup has it. */
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
}

/** The logs of shards in one target, and the collections that they are of. */
export class ShippedLogs {
  constructor(readonly target: BackupTarget) {}

  /**
   * How far shards are, by their names: what was told in the latest epoch, by whoever was furthest in it. `isSealed`: only by what this
   * service has sealed.
   */
  async heads(isSealed = false): Promise<Map<string, LogHead>> {
    const found = new Map<string, LogHead>();
    for (const { key } of await this.target.list(HEADS_PREFIX)) {
      const bytes = await this.unlessUnreadable(key);
      const told = bytes === null ? null : headsFromBytes(key, bytes, this.target.seals);
      if (isSealed && told?.seal !== 'sealed') continue;
      for (const [name, head] of Object.entries(told?.heads.shards ?? {})) {
        const known = found.get(name);
        if (known === undefined || isLater(head, known)) found.set(name, head);
      }
    }
    return found;
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
      return historyKey(content.uid) === key ? { ...content, isSealed: seal === 'sealed' } : null;
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

  async logOf(collectionUid: string, shard: number, heads: ReadonlyMap<string, LogHead>): Promise<ShardLog> {
    const name = shardName({ collectionUid, shard });
    const objects = await this.target.list(`${LOG_PREFIX}${name}/`);
    return { head: heads.get(name) ?? null, chains: chainsOf(objects.flatMap((object) => segmentOf(object) ?? [])) };
  }

  /**
   * The last entry of a chain whose time is not after `ms`: one before `start`, if `start` itself is later. `start` if the chain
   * begins behind it with later ones. `isSealed`: as a restore takes it. Errors: storage_damaged, those of the target.
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
   * Removes what no restore can use: entries before the oldest backup of a collection, and the logs of collections that are
   * long deleted and in no backup. `present`: the backups that are there, and those that others build upon;
   * `held`: collections, by their uids, of which all stays.
   */
  async sweep(present: readonly BackupManifest[], held: ReadonlySet<string>, wallMs: number): Promise<void> {
    const histories = new Map((await this.histories()).map((history) => [history.uid, history]));
    const kept = new Map<string, number>();
    const backedUp = new Set<string>();
    for (const { uid, shards } of present.flatMap(({ collections }) => collections)) {
      backedUp.add(uid);
      for (const [shard, { position }] of shards.entries()) {
        const name = shardName({ collectionUid: uid, shard });
        kept.set(name, Math.min(kept.get(name) ?? Infinity, position?.sequence ?? 0));
      }
    }
    const isGone = (uid: string): boolean => {
      const toMs = histories.get(uid)?.toMs ?? null;
      return toMs !== null && !backedUp.has(uid) && !held.has(uid) && wallMs - toMs > FORGOTTEN_MS;
    };
    const removed: string[] = [];
    for (const object of await this.target.list(LOG_PREFIX)) {
      const segment = segmentOf(object);
      const name = object.key.slice(LOG_PREFIX.length).split('/')[0];
      const uid = name.split('.')[0];
      if (segment !== null && !held.has(uid) && (segment.last <= (kept.get(name) ?? 0) || isGone(uid))) removed.push(object.key);
    }
    for (const uid of histories.keys()) if (isGone(uid)) removed.push(historyKey(uid));
    for (let at = 0; at < removed.length; at += AT_ONCE) await Promise.all(removed.slice(at, at + AT_ONCE).map((key) => this.target.delete(key)));
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

/** null: what came after the place is not there. */
export function wayFrom({ head, chains }: ShardLog, place: Pick<LogPlace, 'sequence' | 'epoch'> | null): LogWay | null {
  const from = place ?? BEGINNING;
  const chain = chainAfter(chains, from);
  if (chain === null) return head !== null && head.sequence === from.sequence && head.epoch === from.epoch ? { chain, last: from.sequence, untilMs: head.untilMs } : null;
  const end = chain.segments.at(-1)!;
  const isTold = head !== null && head.sequence === end.last && head.epoch === end.lastEpoch;
  // Of its last moment there may be more to come.
  return { chain, last: end.last, untilMs: Math.max(end.toMs - 1, isTold ? head.untilMs : 0) };
}

function isLater(one: LogHead, other: LogHead): boolean {
  return one.epoch - other.epoch > 0 || (one.epoch === other.epoch && (one.sequence > other.sequence || (one.sequence === other.sequence && one.untilMs > other.untilMs)));
}
