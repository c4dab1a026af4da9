import { Counter } from 'prom-client';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { CountsByStep, StepHistogram } from '../../../shared/base/metrics/step-histogram';
import type { CountedCalls } from './recent-activity';

/** From half a millisecond (a search in memory) to a minute (the default of REQUEST_TIMEOUT_MS), in seconds. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Requests to the API. Labels are bounded: `endpoint` is a route's template or `unmatched`, `status` the envelope's
 * code (`200` for success).
 */
export class RequestMetrics implements CountedCalls {
  private readonly requests: Counter<'endpoint' | 'status'>;
  private readonly durations: StepHistogram<string>;
  private readonly repetitions: Counter;
  private readonly failed = new Map<string, number>();
  readonly bounds = DURATION_BUCKETS;

  constructor(metrics: ProcessMetrics) {
    const registers = [metrics.registry];
    this.requests = new Counter({
      name: 'vectordb_requests_total',
      help: 'Requests by endpoint and status',
      labelNames: ['endpoint', 'status'],
      registers,
    });
    this.repetitions = new Counter({
      name: 'quiver_idempotent_repetitions_total',
      help: 'Requests whose answer is that of an earlier one with the same Idempotency-Key',
      registers,
    });
    this.durations = metrics.stepHistogram({
      name: 'vectordb_request_duration_seconds',
      help: 'Time from a request to its answer',
      label: 'endpoint',
      steps: [],
      isOpen: true,
      buckets: DURATION_BUCKETS,
    });
  }

  /** `endpoint`: the route's template, or `unmatched`. `code`: the envelope's. */
  observeRequest(endpoint: string, code: number, durationMs: number): void {
    this.requests.inc({ endpoint, status: String(code) });
    this.durations.observe(endpoint, durationMs / 1000);
    if (code >= 400) this.failed.set(endpoint, (this.failed.get(endpoint) ?? 0) + 1);
  }

  /** A request was not done again, and answered as before. */
  observeRepetition(): void {
    this.repetitions.inc();
  }

  counts(): CountsByStep {
    return this.durations.read();
  }

  failures(): ReadonlyMap<string, number> {
    return this.failed;
  }
}
