/** Whether and how traces are sent: from the variables that OpenTelemetry gives to every service. */
export interface TraceSettings {
  /** null: they are not. */
  protocol: 'http/protobuf' | 'http/json' | null;
  /** Spans that may wait to be sent. */
  waitingMax: number;
  /** How long one batch may take, in milliseconds. */
  timeoutMs: number;
  /** Why they are not sent although an endpoint is given. */
  warning: string | null;
}

const WAITING_DEFAULT = 2048;
const TIMEOUT_DEFAULT_MS = 10_000;
const OFF: TraceSettings = {
  protocol: null,
  waitingMax: WAITING_DEFAULT,
  timeoutMs: TIMEOUT_DEFAULT_MS,
  warning: null,
};

/**
 * Traces are sent where OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT says where. These variables
 * often come from the platform, for everything that runs there, so what is not for us is told and never ends the
 * process. What is not read here, OpenTelemetry's packages read by themselves.
 */
export function traceSettings(environment: Readonly<Record<string, string | undefined>>): TraceSettings {
  const given = (name: string): string => (environment[name] ?? '').trim();
  if (given('OTEL_SDK_DISABLED').toLowerCase() === 'true') return OFF;
  if (given('OTEL_EXPORTER_OTLP_ENDPOINT') === '' && given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') === '') return OFF;
  const exporter = given('OTEL_TRACES_EXPORTER') || 'otlp';
  if (exporter === 'none') return OFF;
  if (exporter !== 'otlp')
    return {
      ...OFF,
      warning: `OTEL_TRACES_EXPORTER=${exporter} is not known here, so no traces are sent: otlp or none`,
    };
  const protocol =
    given('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') || given('OTEL_EXPORTER_OTLP_PROTOCOL') || 'http/protobuf';
  if (protocol !== 'http/protobuf' && protocol !== 'http/json') {
    return {
      ...OFF,
      warning: `traces are not sent by the protocol ${protocol}: set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL to http/protobuf or http/json, and the endpoint to the port for it`,
    };
  }
  const positive = (text: string, fallback: number): number =>
    Number.isInteger(Number(text)) && Number(text) > 0 ? Number(text) : fallback;
  const waitingMax = positive(given('OTEL_BSP_MAX_QUEUE_SIZE'), WAITING_DEFAULT);
  const timeoutMs = positive(
    given('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT') || given('OTEL_EXPORTER_OTLP_TIMEOUT'),
    TIMEOUT_DEFAULT_MS,
  );
  return { protocol, waitingMax, timeoutMs, warning: null };
}
