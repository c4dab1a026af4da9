import type { Clock } from '../../../shared/base/time/clock';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';

/** Between two attempts of all that the same obstacle is before. */
const PAUSES = { firstMs: 500, longestMs: 30_000 };
/** One that runs for so long does not fail at once: another one may begin beside it. */
const PROVEN_MS = 10_000;

interface Obstruction {
  backoff: RetryBackoff;
  isClosed: boolean;
  notBeforeMs: number;
  /** The last that began while it was closed. */
  probe: string | null;
  /** Keys of the jobs that failed here, and are not over. */
  failed: Set<string>;
}

/**
 * What jobs wait for together, such as a shard or a provider that is away: while one of them fails of what may pass,
 * the others need not find that out, each by itself. One at a time tries again, those first that have not failed here,
 * and once one gets on, all do.
 */
export class Obstructions {
  private readonly known = new Map<string, Obstruction>();

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  noteFailure(what: string, key: string): void {
    const found = this.known.get(what) ?? newObstruction();
    found.isClosed = true;
    found.failed.add(key);
    found.notBeforeMs = this.clock.monotonicMs() + found.backoff.nextMs();
    this.known.set(what, found);
  }

  /** It may be the one that tries. */
  noteBegun(what: string, key: string): void {
    const found = this.known.get(what);
    if (found?.isClosed !== true) return;
    found.probe = key;
    found.notBeforeMs = this.clock.monotonicMs() + PROVEN_MS;
  }

  noteSuccess(what: string): void {
    const found = this.known.get(what);
    if (found !== undefined) this.known.set(what, { ...newObstruction(), failed: found.failed });
  }

  /** It is over, in whatever way. */
  noteEnded(what: string, key: string): void {
    const found = this.known.get(what);
    if (found === undefined) return;
    found.failed.delete(key);
    // It said nothing of the obstacle.
    if (found.probe === key) found.notBeforeMs = 0;
    if (found.failed.size === 0) this.known.delete(what);
  }

  /** Whether one at a time tries, and which jobs come last then; null: all may begin. */
  lastOf(what: string): ReadonlySet<string> | null {
    const found = this.known.get(what);
    return found?.isClosed === true ? found.failed : null;
  }

  /** Whether it is time for the one. */
  isDue(what: string): boolean {
    return this.clock.monotonicMs() >= (this.known.get(what)?.notBeforeMs ?? 0);
  }

  clear(): void {
    this.known.clear();
  }
}

function newObstruction(): Obstruction {
  return { backoff: new RetryBackoff(PAUSES), isClosed: false, notBeforeMs: 0, probe: null, failed: new Set() };
}
