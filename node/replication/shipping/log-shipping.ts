import type { BackupTarget } from '../../../shared/backup-store/backup-target';
import {
  headsKey,
  HEADS_PREFIX,
  type LogHead,
  type LogHeads,
  shardName,
} from '../../../shared/backup-store/log-format';
import { headsFromBytes, headsToBytes } from '../../../shared/backup-store/log-heads';
import { isUnreadable, TEXT_BYTES_MAX } from '../../../shared/backup-store/backup-format';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { Pace } from '../../../shared/base/time/pace';
import { inTime } from '../../../shared/base/time/deadline';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { ShardShipper } from './shard-shipper';
import type { ShippableLog } from '../../engine/shard/backup/shippable-log';

/** Shards that are shipped at once. */
const AT_ONCE = 8;
/** How long the last round may take when a process stops, or a shard goes. */
const LAST_ROUND_MS = 5_000;
/** For so long it is told how far a shard was that is not led here any more. */
const TOLD_MS = 7 * 24 * 3_600_000;

/** What the shards are that a process leads, and where their logs go. */
export interface LogShippingParts {
  member: string;
  /** The logs of the shards that are open here; the same object for the same opening. */
  logs: () => Iterable<ShippableLog>;
  target: BackupTarget;
  pace: Pace;
  clock: Clock;
  everyMs: number;
  log: Logger;
}

/** What has been shipped, for the metrics. */
export interface ShippingState {
  bytes: number;
  failures: number;
  gaps: number;
  /** How long ago was the moment up to which every shard is shipped that this process leads; 0: it leads none. */
  behindSeconds: number;
}

/**
 * Ships the logs of the shards that this process leads to the backup target, every few seconds, and says how far they
 * are. Nobody waits for it. A target that fails is tried again with the next round; until then the logs keep their
 * entries.
 */
export class LogShipping {
  private readonly shippers = new Map<ShippableLog, ShardShipper>();
  private readonly stopping = new AbortController();
  private readonly counts = { bytes: 0, failures: 0, gaps: 0 };
  /** Since when a shard is led of which nothing was told yet. */
  private readonly waitingSince = new Map<ShippableLog, number>();
  /** What was told of shards that are led elsewhere by now, or are gone: it stays true. null: not read yet. */
  private reported: Map<string, LogHead> | null = null;
  /** What all members told, as it was read in this round. */
  private heads: Promise<LogHeads[]> | null = null;
  private running: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly parts: LogShippingParts) {}

  start(): void {
    this.timer = setTimeout(() => {
      void this.round().finally(() => {
        if (!this.stopping.signal.aborted) this.start();
      });
    }, this.parts.everyMs);
  }

  /** One round over all shards; one at a time. Never rejects. */
  round(): Promise<void> {
    this.running = this.running.then(() => this.shipAll());
    return this.running;
  }

  state(): ShippingState {
    const nowMs = this.parts.clock.wallMs();
    let behindMs = 0;
    for (const log of this.parts.logs()) {
      if (log.view() === null) continue;
      const { head = null, completeMs = 0 } = this.shippers.get(log) ?? {};
      const sinceMs = this.waitingSince.get(log) ?? nowMs;
      // A log whose time is ahead of the clock is told of up to that time.
      behindMs = Math.max(behindMs, nowMs - Math.min(head?.untilMs || sinceMs, completeMs || sinceMs));
    }
    return { ...this.counts, behindSeconds: behindMs / 1000 };
  }

  /** Ships the rest of a log whose shard is about to go, as far as that goes in a few seconds. Never rejects. */
  async shipRest(log: ShippableLog): Promise<void> {
    this.running = this.running.then(async () => {
      this.heads = null;
      await this.ship(log);
      await this.publish();
    });
    await this.inShort(this.running);
  }

  /** Ships the last of it, as far as that goes in a few seconds. */
  async close(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    await this.inShort(this.round());
    this.stopping.abort();
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private async inShort(work: Promise<void>): Promise<void> {
    await inTime(work, LAST_ROUND_MS, () => new QuiverError('unavailable', 'the target takes too long')).catch(
      () => undefined,
    );
  }

  private async shipAll(): Promise<void> {
    this.heads = null;
    const logs = [...this.parts.logs()];
    for (const known of this.shippers.keys()) if (!logs.includes(known)) this.shippers.delete(known);
    for (const known of this.waitingSince.keys()) if (!logs.includes(known)) this.waitingSince.delete(known);
    const waiting = [...logs];
    const work = async (): Promise<void> => {
      for (let log = waiting.pop(); log !== undefined && !this.stopping.signal.aborted; log = waiting.pop())
        await this.ship(log);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    await this.publish();
  }

  private async ship(log: ShippableLog): Promise<void> {
    const { target, pace, clock } = this.parts;
    const shipper =
      this.shippers.get(log) ??
      new ShardShipper(log, {
        target,
        pace,
        clock,
        stop: this.stopping.signal,
        reported: () => (this.heads ??= this.headsOfAll()),
        onShipped: (bytes) => (this.counts.bytes += bytes),
        onGap: ({ id }, from, to) => {
          this.counts.gaps += 1;
          this.parts.log.error(
            { ...id, from, to },
            'entries of a log are missing in the backup target: a restore can go past them only from a backup ' +
              'that is taken after them',
          );
        },
      });
    this.shippers.set(log, shipper);
    if (log.view() === null) this.waitingSince.delete(log);
    else if (!this.waitingSince.has(log)) this.waitingSince.set(log, clock.wallMs());
    try {
      await shipper.ship();
    } catch (error) {
      this.counts.failures += 1;
      shipper.failed(isQuiverError(error) ? error.message : 'it failed; the log of the node says why');
      this.parts.log.warn({ error, ...log.id }, 'the log of a shard could not be shipped; it is tried again');
    }
  }

  private async publish(): Promise<void> {
    const { member, clock, target, log } = this.parts;
    try {
      this.reported ??= await this.reportedBefore();
      for (const { log: own, head } of this.shippers.values())
        if (head !== null) this.reported.set(shardName(own.id), head);
      for (const [name, { untilMs }] of this.reported)
        if (clock.wallMs() - untilMs > TOLD_MS) this.reported.delete(name);
      await target.put(
        headsKey(member),
        headsToBytes({ member, at: clock.wallMs(), shards: Object.fromEntries(this.reported) }, target.seals),
      );
    } catch (error) {
      this.counts.failures += 1;
      log.warn({ error }, 'how far logs are shipped could not be written to the backup target; it is tried again');
    }
  }

  private async headsOfAll(): Promise<LogHeads[]> {
    const { target } = this.parts;
    const found: LogHeads[] = [];
    for (const { key } of await target.list(HEADS_PREFIX)) {
      const heads = await this.headsAt(key);
      if (heads !== null) found.push(heads);
    }
    return found;
  }

  private async reportedBefore(): Promise<Map<string, LogHead>> {
    return new Map(Object.entries((await this.headsAt(headsKey(this.parts.member)))?.shards ?? {}));
  }

  /**
   * What a member has told. null where it is torn, or not sealed by this service: who can write to the target could
   * have entries left out. The segments are what counts, and what was shipped before is shipped again, which does no
   * harm.
   */
  private async headsAt(key: string): Promise<LogHeads | null> {
    const { target } = this.parts;
    const bytes = await target.get(key, TEXT_BYTES_MAX).catch((error: unknown) => {
      if (isUnreadable(error)) return null;
      throw error;
    });
    const found = bytes === null ? null : headsFromBytes(key, bytes, target.seals);
    return found?.seal === 'sealed' ? found.heads : null;
  }
}
