import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { StepHistogram } from '../../../shared/base/metrics/step-histogram';
import { HttpLoad } from '../load/http-load';
import { SEARCH_PHASES, type SearchObserver, type SearchPhase } from '../../service/search/search-observer';
import { RequestMetrics } from './request-metrics';

/** From some microseconds (a merge) to an outage, in seconds. */
const PHASE_BUCKETS = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
  10,
];

/** Where searches spend their time, by phase. */
export class SearchMetrics implements SearchObserver {
  private readonly durations: StepHistogram<SearchPhase>;

  constructor(metrics: ProcessMetrics) {
    this.durations = metrics.stepHistogram({
      name: 'quiver_search_phase_duration_seconds',
      help: 'Time that a search spends in a phase: parse, route, embed, node, merge, serialise',
      label: 'phase',
      steps: SEARCH_PHASES,
      buckets: PHASE_BUCKETS,
    });
  }

  phase(phase: SearchPhase, durationMs: number): void {
    this.durations.observe(phase, durationMs / 1000);
  }
}

/** What the API of one process does: requests, the steps of searches, and what waits. */
export class ApiMetrics {
  readonly requests: RequestMetrics;
  readonly searches: SearchMetrics;
  readonly load = new HttpLoad();

  constructor(metrics: ProcessMetrics) {
    this.requests = new RequestMetrics(metrics);
    this.searches = new SearchMetrics(metrics);
    metrics.gauge('quiver_http_requests_in_flight', 'Requests to the API being worked on', () => this.load.requests);
    metrics.gauge(
      'quiver_http_body_bytes',
      'Bytes of the bodies of requests being read or worked on',
      () => this.load.bodyBytes,
    );
    metrics.gauge(
      'quiver_http_answer_bytes',
      'Bytes that answers hold, from when they are read until clients have taken them',
      () => this.load.answerBytes(),
    );
    metrics.counter(
      'quiver_http_requests_shed_total',
      'Requests refused because the process was busy',
      () => this.load.refused,
    );
  }
}
