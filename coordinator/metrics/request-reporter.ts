import type { Logger } from '../../shared/logs/logger';
import type { AnsweredRequest, RequestObserver } from '../http/observer';
import type { SearchObserver } from '../search/search-observer';
import type { RequestMetrics } from './request-metrics';

/** Which requests get a line in the log, as settings have it. */
export interface RequestLogRule {
  /** `notable`: those that failed, took `logSlowMs` milliseconds or longer, or are administrative. */
  logRequests: 'notable' | 'all';
  logSlowMs: number;
}

/** Reports every answered request to the metrics and, where the rule says so, in one line to the log. */
export class RequestReporter implements RequestObserver {
  private readonly metrics: Pick<RequestMetrics, 'observeRequest'>;
  private readonly searches: SearchObserver;
  private readonly logger: Logger;
  /** Requests that take less are logged only when something else makes them notable. */
  private readonly slowMs: number;

  constructor(options: { metrics: Pick<RequestMetrics, 'observeRequest'>; searches: SearchObserver; logger: Logger; rule: RequestLogRule }) {
    this.slowMs = options.rule.logRequests === 'all' ? 0 : options.rule.logSlowMs;
    this.metrics = options.metrics;
    this.searches = options.searches;
    this.logger = options.logger;
  }

  requestAnswered(facts: AnsweredRequest): void {
    const { endpoint, method, code, keyId, steps } = facts;
    this.metrics.observeRequest(endpoint, code, facts.durationMs);
    if (steps !== null) {
      this.searches.phase('parse', steps.parseMs);
      this.searches.phase('serialise', steps.serialiseMs);
    }
    if (code < 400 && facts.durationMs < this.slowMs && !facts.isAdministrative) return;
    const fields = {
      method,
      endpoint,
      code,
      ms: Math.round(facts.durationMs * 100) / 100,
      requestId: facts.requestId,
      keyId,
      ...(code >= 500 && facts.error !== undefined && facts.error !== null ? { error: facts.error } : {}),
    };
    if (code >= 500) this.logger.error(fields, 'request failed');
    else if (code >= 400) this.logger.warn(fields, 'request refused');
    else this.logger.info(fields, 'request');
  }
}
