import type { Clock } from '../../base/time/clock';
import { type Span, stepSpan } from '../../base/trace/span';
import type { TraceContext } from '../../base/trace/trace-context';
import type { SearchCost } from './shard-read';

/** A step of a request, between two readings of the monotonic clock. */
export interface ProfiledStep {
  name: string;
  startMs: number;
  endMs: number;
}

/** Enough for 20 queries of a collection of 256 shards. */
const CALLS_MAX = 8_192;

/**
 * What one request notes on its way through the service: for a profile, for the log of slow requests, or for a trace.
 * Requests that nobody looks at have none.
 */
export class CallProfile {
  readonly steps: ProfiledStep[] = [];
  readonly calls: ProfiledCall[] = [];

  /** `span`: of the use case, where the request is traced. `query`: which one of a bulk this is; null: the only one. */
  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    readonly span: Span | null = null,
    private readonly query: number | null = null,
  ) {}

  step(name: string, startMs: number, endMs: number): void {
    this.steps.push({ name, startMs, endMs });
    // The calls of shards have spans of their own.
    if (this.span !== null && name !== 'node') stepSpan(this.span, name, startMs, endMs);
  }

  /** The notes of one query of a bulk: its calls are among these. */
  ofQuery(query: number): CallProfile {
    const part = new CallProfile(this.clock, this.span, query);
    Object.assign(part, { steps: this.steps, calls: this.calls });
    return part;
  }

  /** Notes a call of a shard that begins now. */
  begin(kind: string, shard: number): ProfiledCall {
    const startMs = this.clock.monotonicMs();
    const span =
      this.span?.child(`shard ${kind}`, {
        startMs,
        attributes: { 'db.operation.name': kind, 'quiver.shard': shard, 'quiver.query': this.query ?? undefined },
      }) ?? null;
    const profiled = new ProfiledCall({ clock: this.clock, kind, shard, query: this.query, startMs, span });
    if (this.calls.length < CALLS_MAX) this.calls.push(profiled);
    return profiled;
  }
}

/** What was measured where a shard is: until it began with a call, and from then on; in milliseconds. */
export interface ServedTimes {
  waitMs: number;
  runMs: number;
}

/** The replica that a call went to. `address`: of another process. */
export interface AskedReplica {
  node: string | null;
  address: string | null;
  role: 'primary' | 'follower';
}

/** What is noted of one call of a shard: who answered, where the time went, what was done. */
export class ProfiledCall {
  /** 0 while it is under way. */
  endMs = 0;
  /** How often it was sent; 0: it did not leave the process. */
  attempts = 0;
  asked: AskedReplica | null = null;
  /** `inline`: on the thread that serves the request; `shard`: on that of the shard. */
  place: 'inline' | 'shard' = 'shard';
  /** null: not known, because it failed, or the node is of an earlier version. */
  served: ServedTimes | null = null;
  cost: SearchCost | null = null;
  /** Hits or items that came. */
  results: number | null = null;
  /** Operations of a write. */
  operations: number | null = null;
  /** The kind of the error that it ended with. */
  error: string | null = null;
  readonly kind: string;
  readonly shard: number;
  readonly query: number | null;
  readonly startMs: number;
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  private readonly span: Span | null;
  private attempt: Span | null = null;

  constructor(parts: {
    clock: Pick<Clock, 'monotonicMs'>;
    kind: string;
    shard: number;
    query: number | null;
    startMs: number;
    span: Span | null;
  }) {
    this.clock = parts.clock;
    this.kind = parts.kind;
    this.shard = parts.shard;
    this.query = parts.query;
    this.startMs = parts.startMs;
    this.span = parts.span;
  }

  /** It is sent to a replica; the attempt before is over. Answers what its message carries of the trace. */
  send(asked: AskedReplica): TraceContext | null {
    this.attempt?.fail('lost');
    this.attempt?.end();
    this.attempts += 1;
    this.asked = asked;
    if (this.span === null) return null;
    const isWrite = this.kind === 'write';
    const [host, port] = addressParts(asked.address);
    this.attempt = this.span.child(`quiver.v1.${isWrite ? 'Writes' : 'Reads'}/Exchange`, {
      kind: 'client',
      attributes: {
        'rpc.system': 'quiver',
        'rpc.service': isWrite ? 'quiver.v1.Writes' : 'quiver.v1.Reads',
        'rpc.method': 'Exchange',
        'server.address': host,
        'server.port': port,
        'quiver.node': asked.node ?? undefined,
        'quiver.replica.role': asked.role,
        'quiver.attempt': this.attempts,
      },
    });
    return this.attempt.context;
  }

  /** The shard has begun, in this process. */
  begun(): void {
    this.served = { waitMs: this.clock.monotonicMs() - this.startMs, runMs: 0 };
  }

  end(error: string | null): void {
    const nowMs = this.clock.monotonicMs();
    this.endMs = nowMs;
    this.error = error;
    if (this.served !== null && this.served.runMs === 0)
      this.served.runMs = Math.max(0, nowMs - this.startMs - this.served.waitMs);
    if (this.span === null) return;
    this.span.set(this.attributes());
    if (error !== null) {
      this.attempt?.fail(error);
      this.span.fail(error);
    }
    this.attempt?.end(nowMs);
    this.span.end(nowMs);
  }

  private attributes(): Record<string, string | number | undefined> {
    const { cost, place, attempts, results, operations } = this;
    return {
      'quiver.place': attempts > 0 ? 'node' : place,
      'quiver.attempts': attempts > 0 ? attempts : undefined,
      'db.response.returned_rows': results ?? undefined,
      'db.operation.batch.size': operations ?? undefined,
      ...costAttributes(cost),
    };
  }
}

/** What a search took, as attributes of its span. */
export function costAttributes(cost: SearchCost | null): Record<string, string | number> {
  if (cost === null) return {};
  const { detail } = cost;
  return {
    'quiver.rows.scored': cost.scored,
    'quiver.rows.rescored': cost.rescored,
    ...(detail && {
      'quiver.plan': detail.plan,
      'quiver.rows.expanded': detail.expanded,
      'quiver.rows.allowed': detail.allowed,
    }),
  };
}

function addressParts(address: string | null): [string | undefined, number | undefined] {
  const at = address?.lastIndexOf(':') ?? -1;
  return address === null || at < 0 ? [undefined, undefined] : [address.slice(0, at), Number(address.slice(at + 1))];
}
