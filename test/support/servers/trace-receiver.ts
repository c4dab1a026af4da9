import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse, type Type } from 'protobufjs';

/** What of OTLP's messages tests look at (opentelemetry/proto/trace/v1/trace.proto). */
const OTLP = parse(`
  syntax = "proto3";
  message Request { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated SpanMessage spans = 2; }
  message SpanMessage {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
    fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; Status status = 15;
  }
  message Status { string message = 2; int32 code = 3; }
  message KeyValue { string key = 1; Value value = 2; }
  message Value { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`).root.lookupType('Request');

export interface ReceivedSpan {
  name: string;
  traceId: string;
  spanId: string;
  /** '' for the first of a trace. */
  parent: string;
  kind: 'internal' | 'server' | 'client';
  startMs: number;
  endMs: number;
  attributes: Record<string, string | number | boolean>;
  resource: Record<string, string | number | boolean>;
  hasFailed: boolean;
}

const KINDS = ['internal', 'internal', 'server', 'client'] as const;
const STATUS_ERROR = 2;

/** Takes traces as a collector of OpenTelemetry does, in both forms of OTLP over HTTP. */
export class TraceReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  /**
   * `hang`: takes everything and never answers. `drip`: its answer has no end, and a byte comes now and then. `flood`:
   * nor has this one.
   */
  mode: 'take' | 'refuse' | 'hang' | 'drip' | 'flood' | 'garbage' = 'take';

  private constructor(private readonly server: Server) {}

  static async start(): Promise<TraceReceiver> {
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        receiver.requests.push({ path: request.url ?? '', headers: request.headers });
        if (receiver.mode === 'hang') return;
        if (receiver.mode === 'drip') {
          const drops = setInterval(() => response.write('x'), 20);
          response.once('close', () => clearInterval(drops));
          return;
        }
        if (receiver.mode === 'flood') {
          const pour = (): void => {
            while (!response.destroyed && response.write(Buffer.alloc(65_536)));
          };
          response.on('drain', pour);
          return pour();
        }
        if (receiver.mode === 'garbage') return void request.socket.end('\u0000 no HTTP\r\n\r\n');
        if (receiver.mode === 'take') receiver.take(Buffer.concat(pieces), request.headers['content-type'] ?? '');
        response
          .writeHead(receiver.mode === 'take' ? 200 : 400, { 'content-type': request.headers['content-type'] ?? '' })
          .end(request.headers['content-type']?.includes('json') ? '{}' : '');
      });
    });
    const receiver = new TraceReceiver(server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** What a process needs to send its traces here soon. */
  get environment(): Record<string, string> {
    return { OTEL_EXPORTER_OTLP_ENDPOINT: this.url, OTEL_BSP_SCHEDULE_DELAY: '50' };
  }

  trace(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private take(body: Buffer, type: string): void {
    const message: any = type.includes('json') ? JSON.parse(body.toString('utf8')) : decoded(OTLP, body);
    for (const { resource, scopeSpans } of message.resourceSpans) {
      for (const { spans } of scopeSpans)
        for (const span of spans) this.spans.push(spanOf(span, attributesOf(resource.attributes)));
    }
  }
}

function decoded(type: Type, body: Buffer): unknown {
  const message: any = type.toObject(type.decode(body), { longs: String, bytes: Array, arrays: true });
  for (const { scopeSpans } of message.resourceSpans) {
    for (const { spans } of scopeSpans) {
      for (const span of spans)
        for (const field of ['traceId', 'spanId', 'parentSpanId'])
          span[field] = Buffer.from(span[field] ?? []).toString('hex');
    }
  }
  return message;
}

function spanOf(span: any, resource: ReceivedSpan['resource']): ReceivedSpan {
  return {
    name: span.name,
    traceId: span.traceId,
    spanId: span.spanId,
    parent: span.parentSpanId ?? '',
    kind: KINDS[span.kind],
    startMs: Number(BigInt(span.startTimeUnixNano) / 1000n) / 1000,
    endMs: Number(BigInt(span.endTimeUnixNano) / 1000n) / 1000,
    attributes: attributesOf(span.attributes ?? []),
    resource,
    hasFailed: span.status?.code === STATUS_ERROR,
  };
}

function attributesOf(
  list: { key: string; value: Record<string, string | number | boolean> }[],
): ReceivedSpan['attributes'] {
  return Object.fromEntries(
    list.map(({ key, value }) => [
      key,
      'intValue' in value ? Number(value.intValue) : (value.stringValue ?? value.boolValue ?? value.doubleValue),
    ]),
  );
}
