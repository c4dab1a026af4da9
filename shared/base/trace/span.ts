import type { TraceContext } from './trace-context';

/** What a span says besides its times. Never contents, ids of items, texts, vectors, filters or secrets. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Which side of a call it is; `internal`: none. */
export type SpanKind = 'internal' | 'server' | 'client';

export interface SpanOptions {
  kind?: SpanKind;
  /** Monotonic, of the tracer's clock; default: now. */
  startMs?: number;
  attributes?: SpanAttributes;
}

/** A piece of work in a trace that is recorded. Calls never throw and never wait. */
export interface Span {
  readonly context: TraceContext;
  /** Begins a span below this one. */
  child(name: string, options?: SpanOptions): Span;
  set(attributes: SpanAttributes): void;
  /** It failed, for a reason of this name. */
  fail(reason: string): void;
  /** To be called once; default: now. */
  end(endMs?: number): void;
}

/** Spans so far, and those that wait. */
export interface TraceCounts {
  exported: number;
  /** The receiver did not take them. */
  failed: number;
  /** There was no room for them. */
  dropped: number;
  waiting: number;
}

/** Begins traces, or goes on with those of callers, and sends what is recorded of them. */
export interface Tracer {
  /** The first span in this process; null: this trace is not recorded. */
  begin(name: string, parent: TraceContext | null, options?: SpanOptions): Span | null;
  readonly counts: TraceCounts;
  /** Sends what waits, as far as that is possible in a few seconds. */
  close(): Promise<void>;
}

/** A span that is over already: of a step whose times were measured anyway. */
export function stepSpan(
  parent: Span,
  name: string,
  startMs: number,
  endMs: number,
  attributes?: SpanAttributes,
): void {
  parent.child(name, attributes === undefined ? { startMs } : { startMs, attributes }).end(endMs);
}
