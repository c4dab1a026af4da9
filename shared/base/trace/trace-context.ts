/** Names a span of a trace, as W3C Trace Context has it: what calls carry from process to process. */
export interface TraceContext {
  /** 32 hexadecimal digits in lower case. */
  traceId: string;
  /** 16 of them. */
  spanId: string;
  /** Whether its spans are recorded. */
  isSampled: boolean;
  /** The header `tracestate` as it came, which is handed on; '' if there was none. */
  state: string;
}

/** Version, trace, span, flags; later versions may have more behind them. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const SAMPLED = 1;
/** What everybody has to hand on; longer ones are dropped, as the standard has it. */
const STATE_LENGTH_MAX = 512;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** What the headers of a call name; null: no trace, or what is none. */
export function contextFromHeaders(traceparent: unknown, tracestate?: unknown): TraceContext | null {
  if (typeof traceparent !== 'string') return null;
  const match = TRACEPARENT.exec(traceparent.trim());
  if (match === null) return null;
  const [, version, traceId, spanId, flags, more] = match;
  if (version === 'ff' || (version === '00' && more !== undefined) || traceId === NO_TRACE || spanId === NO_SPAN)
    return null;
  const state =
    typeof tracestate === 'string' && tracestate.length <= STATE_LENGTH_MAX && PRINTABLE.test(tracestate)
      ? tracestate.trim()
      : '';
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0, state };
}

/** The header `traceparent` of a call that belongs to the span. */
export function traceparentOf({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-0${isSampled ? SAMPLED : 0}`;
}
