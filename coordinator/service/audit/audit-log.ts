import type { Logger } from '../../../shared/base/logs/logger';
import { inTime } from '../../../shared/base/time/deadline';

/** What happened, as one line of the audit log shows it. Never what a request or its answer holds, and no secret. */
export type AuditEvent = Record<string, string | number | null>;

/** Where lines of the audit log go. */
export interface AuditSink {
  /** Writes whole lines, all or none of them. May take as long as a disk or a reader does. */
  append(lines: string): Promise<void>;
  close(): Promise<void>;
  /** Called in the place of `close` when an `append` does not end: nothing more comes, and nothing may wait for it. */
  abandon(): void;
}

/** Lines that wait while nothing can be written: some ten thousand. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;
/** How often it is tried again. */
const RETRY_MS = 1_000;
/**
 * A write that takes longer counts as one that failed until it is done: a disk that hangs, a reader that stands still.
 */
const LATE_MS = 2_000;
/** A process that stops does not wait longer for what is not written. */
const CLOSE_MS = 2_000;

/**
 * The audit log: one JSON object a line, in the order in which requests were answered. Lines are written in the
 * background, those that come meanwhile together. While they can't be written, they wait in memory, up to a bound; what
 * is beyond it is lost and counted, and a line says how many were lost once lines can be written again.
 */
export class AuditLog {
  private waiting: string[] = [];
  private waitingBytes = 0;
  private lostNow = 0;
  private pumping: Promise<void> | null = null;
  private isClosed = false;
  private failure: string | null = null;
  /** Of the process. */
  private lost = 0;

  constructor(
    private readonly parts: {
      sink: AuditSink;
      log: Logger;
      onFailing?: (isFailing: boolean) => void;
      retryMs?: number;
      lateMs?: number;
      closeMs?: number;
      waitingBytesMax?: number;
    },
  ) {}

  record(event: AuditEvent): void {
    const line = `${JSON.stringify(event)}\n`;
    if (this.waitingBytes + line.length > (this.parts.waitingBytesMax ?? WAITING_BYTES_MAX)) {
      this.lostNow += 1;
      this.lost += 1;
      return;
    }
    this.waiting.push(line);
    this.waitingBytes += line.length;
    this.pumping ??= this.pump();
  }

  /** Whether lines can't be written at present. */
  get isFailing(): boolean {
    return this.failure !== null;
  }

  /** Lines that were lost since the start. */
  get lostLines(): number {
    return this.lost;
  }

  /** Writes what waits, once more if that fails, and for two seconds at most. */
  async close(): Promise<void> {
    this.isClosed = true;
    const ended = await inTime(this.finish(), this.parts.closeMs ?? CLOSE_MS, () => new Error('late')).then(
      () => true,
      () => false,
    );
    if (this.waiting.length > 0)
      this.parts.log.error(
        { lines: this.waiting.length },
        'lines of the audit log were lost at the end of the process',
      );
    if (ended) await this.parts.sink.close();
    else this.parts.sink.abandon();
  }

  private async finish(): Promise<void> {
    await this.pumping;
    if (this.waiting.length > 0) await this.write().catch(() => undefined);
  }

  private async pump(): Promise<void> {
    // Lines that are recorded in one turn are written together.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      try {
        await this.write();
        this.tell(null);
      } catch (error) {
        this.tell(error);
        if (this.isClosed) break;
        await new Promise((done) => setTimeout(done, this.parts.retryMs ?? RETRY_MS));
      }
    }
    // In the same turn as the last look: whoever records next begins again.
    this.pumping = null;
  }

  private async write(): Promise<void> {
    const { lostNow } = this;
    const count = this.waiting.length;
    const lines = this.waiting.join('');
    const lost =
      lostNow === 0 ? '' : `${JSON.stringify({ time: new Date().toISOString(), event: 'lost', lines: lostNow })}\n`;
    const lateMs = this.parts.lateMs ?? LATE_MS;
    const late = setTimeout(() => this.tell(new Error(`not written within ${lateMs} ms`)), lateMs);
    try {
      await this.parts.sink.append(lines + lost);
    } finally {
      clearTimeout(late);
    }
    // More may have come meanwhile.
    this.waiting.splice(0, count);
    this.waitingBytes -= lines.length;
    this.lostNow -= lostNow;
  }

  private tell(error: unknown): void {
    const failure = error === null ? null : String((error as Error).message);
    if ((failure === null) === (this.failure === null)) return;
    this.failure = failure;
    if (error === null) this.parts.log.info({}, 'the audit log is written again');
    else this.parts.log.error({ error }, 'the audit log can not be written');
    this.parts.onFailing?.(failure !== null);
  }
}
