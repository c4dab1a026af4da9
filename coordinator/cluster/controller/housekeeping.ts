import type { Logger } from '../../../shared/base/logs/logger';
import { inTime } from '../../../shared/base/time/deadline';
import type { OtherProcesses } from '../../service/collections/other-processes';
import type { ClusterMap } from '../cluster-map';
import type { ControllerLeadership } from './controller';

/** How often to look for what crashed coordinators left half done. */
const EVERY_MS = 15_000;
/** Longest time that a living coordinator takes to create a collection. */
const CREATION_MS = 120_000;
/** Added to the time that a write may take: nodes count that time from the arrival of the write. */
const WRITE_ROOM_MS = 30_000;
/** Shards that no node leads are waited for; by then, those that one leads have answered. */
const PATIENCE_MS = 1_000;
/** How long a stop waits for what is under way. A node that hangs holds it up for as long as a call may take. */
const CLOSE_MS = 500;

/** The use cases that finish what was left half done. */
interface Recovery {
  recover(others: Partial<OtherProcesses>): Promise<void>;
}

/** A task of the controller: finishes collections and uploads that a crashed coordinator left half done. */
export class Housekeeping {
  private readonly service: Recovery;
  private readonly leadership: ControllerLeadership;
  private readonly map: ClusterMap;
  private readonly log: Logger;
  private readonly writesMs: number;
  private readonly timer: NodeJS.Timeout;
  private running: Promise<void> | null = null;
  /**
   * While nodes are away, it takes as long as a call may. This keeps the next ones from beginning when the process
   * stops.
   */
  private readonly closing = new AbortController();

  /** `requestTimeoutMs`: the longest that a call may take, here and on the other coordinators. */
  constructor(options: {
    service: Recovery;
    leadership: ControllerLeadership;
    map: ClusterMap;
    log: Logger;
    requestTimeoutMs: number;
  }) {
    this.service = options.service;
    this.leadership = options.leadership;
    this.map = options.map;
    this.log = options.log;
    this.writesMs = options.requestTimeoutMs + WRITE_ROOM_MS;
    this.timer = setInterval(() => this.tidy(), EVERY_MS);
  }

  /** What is still under way after a moment is left as a crash would leave it: the next controller finishes it. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    this.closing.abort();
    if (this.running !== null)
      await inTime(this.running, CLOSE_MS, () => new Error('it takes too long')).catch(() => undefined);
  }

  private tidy(): void {
    if (this.leadership.guard === null || this.running !== null) return;
    const living = new Set(this.map.coordinators.all().map(({ value }) => value.instance));
    this.running = this.service
      .recover({
        isAlive: (instanceId) => living.has(instanceId),
        creationMs: CREATION_MS,
        writesMs: this.writesMs,
        patienceMs: PATIENCE_MS,
        stop: this.closing.signal,
      })
      .catch((error: unknown) => this.log.debug({ error }, 'tidying up did not come to its end; it is tried again'))
      .finally(() => {
        this.running = null;
      });
  }
}
