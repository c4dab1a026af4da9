import { statfs } from 'node:fs/promises';
import type { Logger } from '../../../shared/base/logs/logger';
import type { KeptLog } from '../../engine/shard/backup/shippable-log';

/** How often it is looked how much is kept; and the disk is asked that often, and after so many bytes more. */
const CHECK_EVERY_MS = 250;
const ASK_EVERY_MS = 1_000;
const ASK_AFTER_BYTES = 2 * 1024 * 1024;
/** Given up beyond a bound, so that not each write has to give up another one. */
const GIVEN_UP_SHARE = 1 / 16;
/**
 * So much of the disk stays free for the data, and beside that as much as is kept, because the store writes it again
 * when it merges its files. Where less is free, this share of it is what may be kept: on a full disk of terabytes more
 * than waits for a target that is well, on a small one what leaves room for the data.
 */
const FREE_SHARE = 0.1;
const LEFT_SHARE = 0.25;
/** So little makes no room for anybody: it waits for the next round of shipping. */
const KEPT_LEAST_BYTES = 1024 * 1024;
/** How often the log says that entries were given up. */
const SAY_EVERY_MS = 10_000;

export interface Disk {
  freeBytes: number;
  sizeBytes: number;
}

/**
 * Bounds what all logs of a process keep for a backup target that is away: by a budget, and by the disk, which the data
 * need more than moments. What is given up is missing in the target, which is told as a gap when the log is shipped
 * again. The log that keeps the most gives up first, so that the fewest have gaps.
 */
export class KeptLogs {
  private timer: NodeJS.Timeout | null = null;
  private isClosed = false;
  private looked = { atMs: -Infinity, keptBytes: 0 };
  private disk: Disk | null = null;
  private givenUp = 0;
  private unsaid = { bytes: 0, atMs: -Infinity };

  constructor(
    private readonly parts: {
      logs: () => Iterable<KeptLog>;
      /** On the file system of the logs. */
      folder: string;
      /** BACKUP_LOG_KEPT_BYTES. */
      bytesMax: number;
      log: Logger;
      nowMs?: () => number;
      diskOf?: (folder: string) => Promise<Disk>;
    },
  ) {}

  start(): void {
    this.timer = setTimeout(() => {
      void this.look().finally(() => {
        if (!this.isClosed) this.start();
      });
    }, CHECK_EVERY_MS);
  }

  /** Gives up what is too much now. Never rejects. */
  async look(): Promise<void> {
    const { bytesMax, folder, diskOf = diskAt, nowMs = () => performance.now() } = this.parts;
    this.reduceTo(bytesMax, bytesMax * (1 - GIVEN_UP_SHARE));
    const keptBytes = this.keptBytes();
    if (
      keptBytes <= KEPT_LEAST_BYTES ||
      (nowMs() - this.looked.atMs < ASK_EVERY_MS && keptBytes - this.looked.keptBytes < ASK_AFTER_BYTES)
    )
      return;
    // A disk that does not say how full it is has said it before.
    this.disk = await diskOf(folder).catch(() => this.disk);
    if (this.disk !== null && this.disk.freeBytes < this.disk.sizeBytes * FREE_SHARE + keptBytes) {
      const most = Math.max(KEPT_LEAST_BYTES, this.disk.freeBytes * LEFT_SHARE);
      this.reduceTo(most, most);
    }
    this.looked = { atMs: nowMs(), keptBytes: this.keptBytes() };
  }

  state(): { keptBytes: number; givenUpBytes: number } {
    return { keptBytes: this.keptBytes(), givenUpBytes: this.givenUp };
  }

  close(): void {
    this.isClosed = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private keptBytes(): number {
    let sum = 0;
    for (const { keptBytes } of this.parts.logs()) sum += keptBytes;
    return sum;
  }

  /** `to`: what is left where there is more than `most`. */
  private reduceTo(most: number, to: number): void {
    const kept = this.keptBytes();
    if (kept <= most) return;
    let over = kept - to;
    for (const log of [...this.parts.logs()].sort((a, b) => b.keptBytes - a.keptBytes)) {
      const gone = log.giveUp(over);
      over -= gone;
      this.note(gone);
      if (over <= 0) break;
    }
  }

  private note(bytes: number): void {
    if (bytes === 0) return;
    this.givenUp += bytes;
    const { log, bytesMax, nowMs = () => performance.now() } = this.parts;
    this.unsaid.bytes += bytes;
    if (nowMs() - this.unsaid.atMs < SAY_EVERY_MS) return;
    log.error(
      { bytes: this.unsaid.bytes, keptBytes: this.keptBytes(), bytesMax, disk: this.disk },
      'entries of logs that wait for the backup target are given up, to make room for writes: moments of that ' +
        'time are lost; is the target away?',
    );
    this.unsaid = { bytes: 0, atMs: nowMs() };
  }
}

async function diskAt(folder: string): Promise<Disk> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
