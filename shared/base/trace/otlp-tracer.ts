import {
  type Attributes,
  type Context,
  createTraceState,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  type Span as OtelSpan,
  SpanKind as OtelKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as OtelTracer,
} from '@opentelemetry/api';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { BasicTracerProvider, ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Logger } from '../logs/logger';
import type { Clock } from '../time/clock';
import { deadlineTimer, inTime } from '../time/deadline';
import type { TracerParts } from './trace-origin';
import type { Span, SpanAttributes, SpanKind, SpanOptions, TraceCounts, Tracer } from './span';
import type { TraceContext } from './trace-context';

const KINDS: Record<SpanKind, OtelKind> = {
  internal: OtelKind.INTERNAL,
  server: OtelKind.SERVER,
  client: OtelKind.CLIENT,
};

/** A process that stops does not wait longer for whoever takes the traces. */
const CLOSE_MS = 3_000;
/**
 * Added to the time that a batch may take, in which the package gives it up by itself: it knows no answer that never
 * ends.
 */
const LATE_MS = 500;
/** A receiver that is away is told of this often. */
const REPORT_EVERY_MS = 60_000;
/** Wall and monotonic time may drift apart by this before they are brought together. */
const DRIFT_MS = 2;

/** The code of a result that is no success. */
const FAILED = 1;

/** Where spans go. */
type Exported = (result: { code: number; error?: Error }) => void;

/**
 * Sends spans by OTLP over HTTP, with OpenTelemetry's own SDK: sampler, limits, batches, endpoint and headers are what
 * its variables say. At most so many spans are held as OTEL_BSP_MAX_QUEUE_SIZE says, those under way among them.
 */
export class OtlpTracer implements Tracer {
  readonly counts: TraceCounts = { exported: 0, failed: 0, dropped: 0, waiting: 0 };
  private readonly provider: BasicTracerProvider;
  private readonly tracer: OtelTracer;
  private readonly times: EpochTimes;

  constructor({ origin, clock, log }: TracerParts) {
    diag.setLogger(new DiagnosticLog(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
    const { BasicTracerProvider, BatchSpanProcessor } =
      require('@opentelemetry/sdk-trace-base') as typeof import('@opentelemetry/sdk-trace-base');
    const { defaultResource, detectResources, envDetector, resourceFromAttributes } =
      require('@opentelemetry/resources') as typeof import('@opentelemetry/resources');
    const { OTLPTraceExporter } = (
      origin.protocol === 'http/protobuf'
        ? require('@opentelemetry/exporter-trace-otlp-proto')
        : require('@opentelemetry/exporter-trace-otlp-http')
    ) as typeof import('@opentelemetry/exporter-trace-otlp-proto');
    const own = resourceFromAttributes({
      'service.name': 'quiver',
      'service.version': origin.version,
      'service.instance.id': origin.instanceId,
      'process.pid': process.pid,
      'quiver.role': origin.role,
      'quiver.member': origin.member,
    });
    const resource = defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] }));
    const connections = new Connections();
    const inner = new OTLPTraceExporter({ httpAgentOptions: (protocol) => connections.agentOf(protocol) });
    const exporter = new CountedExporter(inner, {
      counts: this.counts,
      log,
      lateMs: origin.timeoutMs + LATE_MS,
      onLate: () => connections.cut(),
    });
    const processor = new BoundedProcessor(new BatchSpanProcessor(exporter), this.counts, origin.waitingMax);
    this.provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
    this.tracer = this.provider.getTracer('quiver', origin.version);
    this.times = new EpochTimes(clock);
  }

  begin(name: string, parent: TraceContext | null, options: SpanOptions = {}): Span | null {
    const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextToOtel(parent));
    const span = start(this.tracer, this.times, name, context, options);
    return span.isRecording() ? new OtlpSpan(this.tracer, this.times, span, parent?.state ?? '') : null;
  }

  async close(): Promise<void> {
    await inTime(this.provider.shutdown(), CLOSE_MS, () => new Error('not in time')).catch(() => undefined);
  }
}

class OtlpSpan implements Span {
  readonly context: TraceContext;

  constructor(
    private readonly tracer: OtelTracer,
    private readonly times: EpochTimes,
    private readonly span: OtelSpan,
    state: string,
  ) {
    const { traceId, spanId, traceFlags } = span.spanContext();
    this.context = { traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0, state };
  }

  child(name: string, options: SpanOptions = {}): Span {
    const span = start(this.tracer, this.times, name, trace.setSpan(ROOT_CONTEXT, this.span), options);
    return new OtlpSpan(this.tracer, this.times, span, this.context.state);
  }

  set(attributes: SpanAttributes): void {
    this.span.setAttributes(attributes as Attributes);
  }

  fail(reason: string): void {
    this.span.setAttribute('error.type', reason);
    this.span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(endMs?: number): void {
    this.span.end(this.times.of(endMs));
  }
}

function start(
  tracer: OtelTracer,
  times: EpochTimes,
  name: string,
  context: Context,
  { kind = 'internal', startMs, attributes }: SpanOptions,
): OtelSpan {
  return tracer.startSpan(
    name,
    { kind: KINDS[kind], startTime: times.of(startMs), attributes: attributes as Attributes | undefined },
    context,
  );
}

function contextToOtel({
  traceId,
  spanId,
  isSampled,
  state,
}: TraceContext): Parameters<typeof trace.setSpanContext>[1] {
  return {
    traceId,
    spanId,
    isRemote: true,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    ...(state !== '' && { traceState: createTraceState(state) }),
  };
}

/** Times of a monotonic clock as milliseconds since the epoch, in one line for all spans, and near to wall time. */
class EpochTimes {
  /** What is added to the monotonic clock; the same for both ends of a span, so that its length is exact. */
  private offsetMs: number;

  constructor(private readonly clock: Clock) {
    this.offsetMs = performance.timeOrigin + performance.now() - clock.monotonicMs();
  }

  of(monotonicMs?: number): number {
    const nowMs = this.clock.monotonicMs();
    const driftMs = this.clock.wallMs() - nowMs - this.offsetMs;
    if (Math.abs(driftMs) > DRIFT_MS) this.offsetMs += driftMs;
    return (monotonicMs ?? nowMs) + this.offsetMs;
  }
}

/** Takes spans as long as there is room for them, and counts the others. */
class BoundedProcessor implements SpanProcessor {
  constructor(
    private readonly inner: SpanProcessor,
    private readonly counts: TraceCounts,
    private readonly waitingMax: number,
  ) {}

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    if (this.counts.waiting >= this.waitingMax) {
      this.counts.dropped += 1;
      return;
    }
    this.counts.waiting += 1;
    this.inner.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.inner.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }
}

/** The connections to the receiver. */
class Connections {
  private agent: HttpAgent | null = null;

  agentOf(protocol: string): HttpAgent {
    this.agent = protocol === 'https:' ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
    return this.agent;
  }

  /** Ends those that there are; others can be made. */
  cut(): void {
    this.agent?.destroy();
  }
}

/** Counts what became of spans, and tells of a receiver that does not take them. A batch that is late has failed. */
class CountedExporter implements SpanExporter {
  private reportedMs = -Infinity;

  constructor(
    private readonly inner: SpanExporter,
    private readonly parts: { counts: TraceCounts; log: Logger; lateMs: number; onLate: () => void },
  ) {}

  export(spans: ReadableSpan[], done: Exported): void {
    const { counts, lateMs, onLate } = this.parts;
    let isOver = false;
    const end: Exported = (result) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      counts.waiting -= spans.length;
      if (result.code === 0) counts.exported += spans.length;
      else this.failed(spans.length, result.error);
      done(result);
    };
    const timer = deadlineTimer(lateMs, () => {
      end({ code: FAILED, error: Object.assign(new Error('the receiver did not end its answer'), { code: 'LATE' }) });
      onLate();
    });
    timer.unref();
    this.inner.export(spans, end);
  }

  forceFlush(): Promise<void> {
    return this.inner.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.inner.shutdown();
  }

  private failed(spans: number, error: Error | undefined): void {
    const { counts, log } = this.parts;
    counts.failed += spans;
    const nowMs = performance.now();
    if (nowMs - this.reportedMs < REPORT_EVERY_MS) return;
    this.reportedMs = nowMs;
    // Its message may hold the address with a password, and what the receiver answered.
    const { name = 'unknown', code = name } = (error ?? {}) as { name?: string; code?: string | number };
    log.warn({ reason: code, ...counts }, 'traces could not be sent; they are lost, and nothing waits for them');
  }
}

/** What the packages have to say of their settings. Of failures they would tell with each batch. */
class DiagnosticLog {
  constructor(private readonly log: Logger) {}

  error(message: string): void {
    this.warn(message);
  }

  warn(message: string): void {
    if (message.startsWith('OTEL_')) this.log.warn({ part: 'traces' }, message);
  }

  info(): void {}
  debug(): void {}
  verbose(): void {}
}
