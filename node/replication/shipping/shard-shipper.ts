import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import { chainsOf } from '../../../shared/backup-store/log-chain';
import {
  LOG_PREFIX,
  type LogHead,
  type LogHeads,
  type LogSegment,
  segmentKey,
  segmentOf,
  segmentsFrom,
  segmentToBytes,
  type ShippedEntry,
  shardName,
  stageKey,
  type LoggedStage,
  TOLD,
} from '../../../shared/backup-store/log-format';
import { sealedText } from '../../../shared/backup-store/backup-format';
import { stageIn } from '../../../shared/contract/writes/operation-codec';
import type { ShardStage } from '../../../shared/contract/shard/shard-stage';
import type { Clock } from '../../../shared/base/time/clock';
import type { Pace } from '../../../shared/base/time/pace';
import { SealedSegments } from './sealed-segments';
import type { LoggedEntry, LogView, ShippableLog } from '../../engine/shard/backup/shippable-log';

/** Bytes of a segment, about: it is in memory as a whole. */
const SEGMENT_BYTES = 4 * 1024 * 1024;

export interface ShipperParts {
  target: BackupTarget;
  pace: Pace;
  clock: Pick<Clock, 'wallMs'>;
  stop: AbortSignal;
  /** What members have told so far. */
  reported: () => Promise<LogHeads[]>;
  /** Told of bytes that were written, and of entries that were given up. */
  onShipped: (bytes: number) => void;
  onGap: (log: ShippableLog, from: number, to: number) => void;
}

/** Where the shipping of a term stands. */
interface Position {
  term: number;
  /** The next entry to be shipped, and the epoch and time of the one before. */
  next: number;
  epoch: number;
  at: number;
}

/**
 * Brings the log of one shard to the target, as long as this process leads it. What a process before shipped goes on
 * where that ended: the target tells, by what this service has sealed, since anybody could have written the rest.
 * Entries that are not there any more, or whose time nobody noted, are a gap: what follows is of use only with a backup
 * taken later.
 */
export class ShardShipper {
  head: LogHead | null = null;
  /**
   * When all of the log was in the target last, by the clock here, which the log's own time may be ahead of; 0: never.
   */
  completeMs = 0;
  private position: Position | null = null;
  private gaps = 0;
  /** The last stage that the target was told of. */
  private stage: { stage: ShardStage; term: number } | null = null;

  private readonly sealed: SealedSegments;

  constructor(
    readonly log: ShippableLog,
    private readonly parts: ShipperParts,
  ) {
    this.sealed = new SealedSegments(parts.target);
  }

  /** Ships what is committed by now. Errors: those of the target and of the log. */
  async ship(): Promise<void> {
    const { log, parts } = this;
    // Before the log is looked at: a write that is not in it yet begins, or is acknowledged, later.
    const sampledMs = parts.clock.wallMs();
    const view = log.view();
    if (view === null) {
      this.head = null;
      this.completeMs = 0;
      this.position = null;
      return;
    }
    if (this.position?.term !== view.term) this.position = await this.resume(view);
    const { position } = this;
    if (position === null) return;
    await this.skip(position, view.first);
    while (position.next <= view.committed && !parts.stop.aborted) {
      const entries = await log.entries(position.next, SEGMENT_BYTES);
      // Nothing, or something else, once it does not lead any more.
      if (entries.length === 0 || entries[0].sequence !== position.next) break;
      await this.put(position, entries);
    }
    const isComplete = position.next > view.last;
    // Of the same millisecond there may be more to come.
    const untilMs = isComplete ? sampledMs - 1 : Math.max(0, position.at - 1);
    // From here on no entry may have a time of before.
    if (isComplete) position.at = Math.max(position.at, sampledMs);
    if (isComplete) this.completeMs = sampledMs;
    this.tell(position, untilMs);
  }

  /** What went wrong is shown until it goes on. */
  failed(reason: string): void {
    if (this.head !== null) this.head = { ...this.head, error: reason };
  }

  private tell({ next, epoch, at }: Position, untilMs: number, first = next): void {
    const since = this.head?.since ?? first;
    this.head = {
      sequence: next - 1,
      epoch,
      since,
      untilMs: Math.max(untilMs, this.head?.untilMs ?? 0),
      gaps: this.gaps,
      error: null,
    };
    this.log.shipped({ sequence: next - 1, epoch, at });
  }

  /** Where the target says that shipping ended; null: the log has gone on since it was looked at, or is led no more. */
  private async resume({ term }: LogView): Promise<Position | null> {
    const { log, parts } = this;
    const name = shardName(log.id);
    const reported = (await parts.reported()).flatMap(({ shards }) => shards[name] ?? []);
    const untilMs = Math.max(0, ...reported.map((head) => head.untilMs));
    const list = async (from: number): Promise<LogSegment[]> =>
      (await parts.target.list(`${LOG_PREFIX}${name}/`, segmentsFrom(name, from))).flatMap(
        (object) => segmentOf(object) ?? [],
      );
    this.head = null;
    this.sealed.forget();
    // The target takes its time, in which what is not shipped may be given up.
    const look = (): LogView | null => {
      const now = log.view();
      return now?.term === term ? now : null;
    };
    let view = look();
    if (view === null) return null;
    const isHere = (sequence: number, epoch: number): boolean =>
      sequence >= view!.first - 1 && sequence <= view!.committed && log.epochOf(sequence) === epoch;
    // What was shipped after it was told is shipped again, which does no harm.
    const newest = reported
      .filter(({ sequence, epoch }) => isHere(sequence, epoch))
      .sort((a, b) => b.sequence - a.sequence)[0];
    const others = (segments: readonly LogSegment[]): LogSegment[] =>
      segments.filter((segment) => isOfOthers(log, view!, [endOf(segment)]));
    if (newest !== undefined) {
      const behind = log.goOnBehind === undefined ? [] : await list(newest.sequence + 1);
      view = look();
      if (view === null) return null;
      const isOwn = !isOfOthers(log, view, reported) && (await this.sealed.first(others(behind))) === null;
      view = look();
      if (view === null) return null;
      if (isOwn) {
        this.head = { ...newest, untilMs, gaps: this.gaps, error: null };
        return { term, next: newest.sequence + 1, epoch: newest.epoch, at: untilMs + 1 };
      }
    }
    const segments = await list(0);
    view = look();
    if (view === null) return null;
    if (isOfOthers(log, view, reported) || (await this.sealed.first(others(segments))) !== null)
      return this.goOnBehind(view, reported, segments);
    const last = await this.sealed.first([...segments].sort((a, b) => b.lastEpoch - a.lastEpoch || b.last - a.last));
    view = look();
    if (view === null) return null;
    const position = {
      term,
      next: view.first,
      epoch: log.epochOf(view.first - 1) ?? 0,
      at: Math.max(last?.toMs ?? 0, untilMs + 1),
    };
    const isWhole = last !== null && isHere(last.last, last.lastEpoch);
    if (!isWhole) for (const head of reported) await this.keepReported(head);
    if (last === null) return position;
    if (isWhole) {
      const chain = chainsOf(segments).find((one) => one.segments.includes(last));
      Object.assign(position, { next: last.last + 1, epoch: last.lastEpoch });
      this.head = {
        sequence: last.last,
        epoch: last.lastEpoch,
        since: chain?.since ?? last.first,
        untilMs,
        gaps: this.gaps,
        error: null,
      };
    } else this.giveUp(last.last + 1, view.first - 1);
    return position;
  }

  /**
   * What the target has of another history stays apart, and so what was written here until that was noticed is given
   * up.
   */
  private async goOnBehind(
    view: LogView,
    reported: readonly LogHead[],
    segments: readonly LogSegment[],
  ): Promise<Position | null> {
    const { log, parts, sealed } = this;
    const furthest = await sealed.first([...segments].sort((a, b) => b.last - a.last));
    const latest = await sealed.first([...segments].sort((a, b) => b.toMs - a.toMs));
    const end = Math.max(furthest?.last ?? 0, ...reported.map(({ sequence }) => sequence));
    const atEnd = await sealed.first(segments.filter(({ last }) => last === end).sort((a, b) => b.toMs - a.toMs));
    // Up to when nothing came behind the end of the other history is told by its head alone, which another one takes
    // the place of.
    const head = reported.filter(({ sequence }) => sequence === end).sort((a, b) => b.untilMs - a.untilMs)[0];
    if (head !== undefined) {
      const { epoch } = head;
      const at = Math.max(head.untilMs + 1, atEnd?.toMs ?? 0);
      const key = segmentKey(shardName(log.id), {
        first: end + 1,
        last: end + 1,
        precedingEpoch: epoch,
        lastEpoch: epoch,
        fromMs: at,
        toMs: at,
      });
      const bytes = segmentToBytes([{ sequence: end + 1, epoch, at, write: null }], { seals: parts.target.seals, key });
      await parts.target.put(key, bytes);
      parts.onShipped(bytes.length);
    }
    const next = await log.goOnBehind!(head === undefined ? end : end + 1);
    // Closed meanwhile: the next start looks again.
    if (log.view() === null) return null;
    this.giveUp(Math.min(view.first, end + 1), next - 1);
    return {
      term: view.term,
      next,
      epoch: log.epochOf(next - 1) ?? 0,
      at: Math.max(latest?.toMs ?? 0, ...reported.map(({ untilMs }) => untilMs + 1)),
    };
  }

  /** What is not there any more is given up. */
  private async skip(position: Position, first: number): Promise<void> {
    if (position.next >= first) return;
    if (this.head !== null) await this.keepReported(this.head);
    this.giveUp(position.next, first - 1);
    Object.assign(position, { next: first, epoch: this.log.epochOf(first - 1) ?? 0 });
  }

  private giveUp(from: number, to: number): void {
    this.gaps += 1;
    this.head = null;
    this.parts.onGap(this.log, from, to);
  }

  private async put(position: Position, entries: LoggedEntry[]): Promise<void> {
    const isUntimed = ({ at, write }: LoggedEntry): boolean => write !== null && at === null;
    const from = entries.findIndex(isUntimed);
    const timed = from < 0 ? entries : entries.slice(0, from);
    // What was there before it was switched on is no gap in anything.
    const isBeginning = from >= 0 && this.head === null && timed.every(({ write }) => write === null);
    if (timed.length > 0 && !isBeginning) await this.putSegment(position, timed);
    if (from < 0) return;
    // When these were acknowledged nobody knows any more: they count as missing.
    const end = entries.findIndex((entry, i) => i > from && !isUntimed(entry));
    const last = entries.at(end < 0 ? -1 : end - 1)!;
    if (!isBeginning && this.head !== null) await this.keepReported(this.head);
    if (!isBeginning) this.giveUp(position.next, last.sequence);
    Object.assign(position, { next: last.sequence + 1, epoch: last.epoch });
  }

  private async putSegment(position: Position, entries: LoggedEntry[]): Promise<void> {
    const { log, parts } = this;
    let { at } = position;
    const timed = entries.map((entry): ShippedEntry => ({ ...entry, at: (at = Math.max(at, entry.at ?? 0)) }));
    const [first, last] = [timed[0], timed[timed.length - 1]];
    await this.putStages(timed);
    const name = {
      first: first.sequence,
      last: last.sequence,
      precedingEpoch: position.epoch,
      lastEpoch: last.epoch,
      fromMs: first.at,
      toMs: last.at,
    };
    const key = segmentKey(shardName(log.id), name);
    const bytes = segmentToBytes(timed, { seals: parts.target.seals, key });
    await parts.target.put(key, bytes);
    parts.onShipped(bytes.length);
    Object.assign(position, { next: last.sequence + 1, epoch: last.epoch, at: last.at });
    this.tell(position, last.at - 1, first.sequence);
    await parts.pace.pay(bytes.length, parts.stop);
  }

  /** Another head takes its place, which tells nothing of the time before a gap. */
  private async keepReported({ sequence, epoch, untilMs: at }: LogHead): Promise<void> {
    await this.putStage({ sequence, epoch, at, term: 0, stage: TOLD });
  }

  private async putStage(place: Omit<LoggedStage, 'key'>): Promise<void> {
    const { target } = this.parts;
    const key = stageKey(shardName(this.log.id), place);
    await target.put(key, sealedText(place, { seals: target.seals, key }));
  }

  /** Before the segment that has them: so whoever knows of the entries knows of the stages. */
  private async putStages(entries: readonly ShippedEntry[]): Promise<void> {
    for (const { sequence, epoch, at, write } of entries) {
      const given = write === null ? null : stageIn(write.payload);
      // While items are copied, the same is said every few seconds.
      if (given === null || (given.stage === this.stage?.stage && given.term === this.stage.term)) continue;
      await this.putStage({ sequence, epoch, at, ...given });
      this.stage = given;
    }
  }
}

/**
 * Whether a target has entries under numbers of a log that the log does not have: it was put back to an earlier state.
 * Of what it keeps no more nothing can be told. Only asked of a log that can go on behind them.
 */
function isOfOthers(
  log: ShippableLog,
  { first, committed }: LogView,
  places: readonly { sequence: number; epoch: number }[],
): boolean {
  return (
    log.goOnBehind !== undefined &&
    places.some(
      ({ sequence, epoch }) => sequence > committed || (sequence >= first - 1 && log.epochOf(sequence) !== epoch),
    )
  );
}

function endOf({ last, lastEpoch }: LogSegment): { sequence: number; epoch: number } {
  return { sequence: last, epoch: lastEpoch };
}
