import type { Clock } from '../../../shared/base/time/clock';
import type { AnsweredRequest } from '../http/observer';
import type { SlowRequest } from '../../cluster/operations/activity-service';

/** Enough to look at; some tens of kilobytes. */
const KEPT_MAX = 100;
/** The longest name of a collection. */
const NAME_MAX = 255;
/** What stands before a collection's name in a path. */
const COLLECTION_PATH = /^\/v1\/collections\/([^/?#]+)/;
const COLLECTION_TEMPLATE = /^\/v1\/collections\/\{/;

/** The last slow requests of a process. */
export class SlowRequests {
  private readonly kept: SlowRequest[] = [];

  constructor(private readonly parts: { slowMs: number; clock: Pick<Clock, 'wallMs'> }) {}

  get slowMs(): number {
    return this.parts.slowMs;
  }

  /** Keeps the request if it was slow. */
  note({ method, endpoint, url, code, durationMs, keyId, requestId }: AnsweredRequest): void {
    if (durationMs < this.parts.slowMs) return;
    const at = new Date(this.parts.clock.wallMs()).toISOString();
    this.kept.push({
      at,
      method,
      endpoint,
      collection: collectionIn(endpoint, url),
      code,
      ms: Math.round(durationMs * 100) / 100,
      keyId,
      requestId,
    });
    if (this.kept.length > KEPT_MAX) this.kept.shift();
  }

  /** The latest first. */
  latest(): SlowRequest[] {
    return [...this.kept].reverse();
  }
}

function collectionIn(endpoint: string, url: string): string | null {
  const name = COLLECTION_TEMPLATE.test(endpoint) ? COLLECTION_PATH.exec(url)?.[1] : undefined;
  return name === undefined ? null : name.slice(0, NAME_MAX);
}
