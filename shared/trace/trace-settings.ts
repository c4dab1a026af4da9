/** Whether and how traces are sent: from the variables that OpenTelemetry gives to every service. */
export interface TraceSettings {
  /** null: they are not. */
  protocol: 'http/protobuf' | 'http/json' | null;
  /** Spans that may wait to be sent. */
  waitingMax: number;
  /** Why they are not sent although an endpoint is given. */
  warning: string | null;
}

const WAITING_DEFAULT = 2048;
const OFF: TraceSettings = { protocol: null, waitingMax: WAITING_DEFAULT, warning: null };

/**
 * Traces are sent where OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT says where. These variables often
 * come from the platform, for everything that runs there, so what is not for us is told and never ends the process. What is
 * not read here, OpenTelemetry's packages read by themselves.
 */
export function traceSettings(environment: Readonly<Record<string, string | undefined>>): TraceSettings {
  const given = (name: string): string => (environment[name] ?? '').trim();
  if (given('OTEL_SDK_DISABLED').toLowerCase() === 'true') return OFF;
  if (given('OTEL_EXPORTER_OTLP_ENDPOINT') === '' && given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') === '') return OFF;
  const exporter = given('OTEL_TRACES_EXPORTER') || 'otlp';
  if (exporter === 'none') return OFF;
  if (exporter !== 'otlp') return { ...OFF, warning: `OTEL_TRACES_EXPORTER=${exporter} is not known here, so no traces are sent: otlp or none` };
  const protocol = given('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') || given('OTEL_EXPORTER_OTLP_PROTOCOL') || 'http/protobuf';
  if (protocol !== 'http/protobuf' && protocol !== 'http/json') {
    return { ...OFF, warning: `traces are not sent by the protocol ${protocol}: set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL to http/protobuf or http/json, and the endpoint to the port for it` };
  }
  const waitingMax = Number(given('OTEL_BSP_MAX_QUEUE_SIZE') || WAITING_DEFAULT);
  return { protocol, waitingMax: Number.isInteger(waitingMax) && waitingMax > 0 ? waitingMax : WAITING_DEFAULT, warning: null };
}
