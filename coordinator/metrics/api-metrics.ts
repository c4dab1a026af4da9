import type { ProcessMetrics } from '../../shared/metrics/process-metrics';
import { HttpLoad } from '../http/http-load';
import { RequestMetrics } from './request-metrics';
import { SearchMetrics } from './search-metrics';

/** What the API of one process does: requests, the steps of searches, and what waits in it. */
export class ApiMetrics {
  readonly requests: RequestMetrics;
  readonly searches: SearchMetrics;
  readonly load = new HttpLoad();

  constructor(metrics: ProcessMetrics) {
    this.requests = new RequestMetrics(metrics);
    this.searches = new SearchMetrics(metrics);
    metrics.gauge('quiver_http_requests_in_flight', 'Requests to the API being worked on', () => this.load.requests);
    metrics.gauge('quiver_http_body_bytes', 'Bytes of the bodies of requests being read or worked on', () => this.load.bodyBytes);
    metrics.counter('quiver_http_requests_shed_total', 'Requests refused because the process was busy', () => this.load.refused);
  }
}
