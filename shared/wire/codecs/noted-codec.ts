import { contextFromHeaders, type TraceContext, traceparentOf } from '../../base/trace/trace-context';
import type { Noted, Noted__Output } from '../generated/quiver/v1/shard';

/** What a call that is looked at carries of its trace; null: it is of none. */
export function notedToProto(context: TraceContext | null): Noted {
  return context === null ? {} : { traceparent: traceparentOf(context), tracestate: context.state };
}

export function contextFromNoted({ traceparent, tracestate }: Noted__Output): TraceContext | null {
  return contextFromHeaders(traceparent, tracestate);
}
