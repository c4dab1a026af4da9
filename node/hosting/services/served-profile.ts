import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import { contextFromNoted } from '../../../shared/wire/codecs/noted-codec';
import type { Noted__Output, ShardRef__Output } from '../../../shared/wire/generated/quiver/v1/shard';
import { costAttributes, ProfiledCall } from '../../../shared/contract/shard/call-profile';
import type { VectorSearchResult } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import { type Span, stepSpan, type Tracer } from '../../../shared/base/trace/span';

/**
 * A call of a coordinator that somebody looks at: what it took here goes into the answer, and where it is traced, into
 * a span.
 */
export class ServedProfile {
  readonly profiled: ProfiledCall;
  private readonly span: Span | null;

  constructor(parts: {
    noted: Noted__Output;
    tracer: Tracer | null;
    clock: Clock;
    shard: ShardRef__Output;
    service: 'Reads' | 'Writes';
    operation: string;
    startMs: number;
  }) {
    const { noted, tracer, clock, shard, service, operation, startMs } = parts;
    const context = tracer === null ? null : contextFromNoted(noted);
    const attributes = {
      'rpc.system': 'quiver',
      'rpc.service': `quiver.v1.${service}`,
      'rpc.method': 'Exchange',
      'db.system.name': 'quiver',
      'db.operation.name': operation,
      'quiver.collection.uid': shard.collectionUid,
      'quiver.shard': shard.shard,
    };
    this.span =
      context === null
        ? null
        : (tracer?.begin(`quiver.v1.${service}/Exchange`, context, { kind: 'server', startMs, attributes }) ?? null);
    this.profiled = new ProfiledCall({ clock, kind: operation, shard: shard.shard, query: null, startMs, span: null });
  }

  answered(answer: unknown): void {
    const { profiled } = this;
    if (Array.isArray(answer)) profiled.results = answer.length;
    if (profiled.kind !== 'search') return;
    const { hits, cost } = answer as VectorSearchResult;
    profiled.results = hits.length;
    profiled.cost = cost ?? null;
  }

  /** Ends it, once; `error` null: it was answered. */
  end(error: unknown): void {
    const { profiled, span } = this;
    if (profiled.endMs > 0) return;
    const reason = error === null ? null : isQuiverError(error) ? error.kind : 'internal';
    profiled.end(reason);
    if (span === null) return;
    if (profiled.served !== null) {
      const begunMs = profiled.startMs + profiled.served.waitMs;
      stepSpan(span, 'wait', profiled.startMs, begunMs);
      stepSpan(span, profiled.kind, begunMs, profiled.endMs, {
        'db.response.returned_rows': profiled.results ?? undefined,
        ...costAttributes(profiled.cost),
      });
    }
    if (reason !== null) span.fail(reason);
    span.end(profiled.endMs);
  }
}
