import type { Logger } from '../logs/logger';
import type { Clock } from '../time/clock';
import { type TraceSettings, traceSettings } from './trace-settings';

/** Who sends traces. All threads of a process are the same. */
export interface TraceSource {
  role: 'embedded' | 'coordinator' | 'node';
  member: string;
  /** Unique to this run of the process. */
  instanceId: string;
  version: string;
}

/** What traces are sent with; may be passed to another thread. */
export interface TraceOrigin extends TraceSource, TraceSettings {
  protocol: NonNullable<TraceSettings['protocol']>;
  /**
   * What OpenTelemetry's packages read: a thread that has no environment of its own needs these. Secrets may be among
   * them.
   */
  variables: Readonly<Record<string, string>>;
}

/** What a tracer is made of. */
export interface TracerParts {
  origin: TraceOrigin;
  clock: Clock;
  log: Logger;
}

/** null where nobody wants traces: nothing is loaded for them then. Says in the log what keeps them from being sent. */
export function traceOrigin(
  environment: Readonly<Record<string, string | undefined>>,
  source: TraceSource,
  log: Logger,
): TraceOrigin | null {
  const settings = traceSettings(environment);
  const { protocol, warning } = settings;
  if (warning !== null) log.warn({}, warning);
  if (protocol === null) return null;
  const variables = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[0].startsWith('OTEL_') && entry[1] !== undefined,
  );
  return { ...source, ...settings, protocol, variables: Object.fromEntries(variables) };
}
