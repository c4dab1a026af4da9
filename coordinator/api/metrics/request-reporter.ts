import type { AuditLog } from '../../service/audit/audit-log';
import { errorFields } from '../../../shared/base/logs/error-fields';
import type { Logger } from '../../../shared/base/logs/logger';
import type { AnsweredRequest, RequestObserver } from '../http/observer';
import type { SearchObserver } from '../../service/search/search-observer';
import { auditEvent, type AuditRule, isAudited } from './audited-request';
import type { RequestMetrics } from './request-metrics';
import type { SlowRequests } from './slow-requests';

/** Which requests get a line in the log, as settings have it. */
export interface RequestLogRule {
  /** `notable`: those that failed, took `logSlowMs` milliseconds or longer, or are administrative. */
  logRequests: 'notable' | 'all';
  logSlowMs: number;
}

/** Whether a request gets a line in the log. */
export function isLogged(rule: RequestLogRule, { code, durationMs, isAdministrative }: AnsweredRequest): boolean {
  return code >= 400 || isAdministrative || rule.logRequests === 'all' || durationMs >= rule.logSlowMs;
}

/** Reports every answered request to the metrics and, where the rule says so, in one line to the log. */
export class RequestReporter implements RequestObserver {
  private readonly metrics: Pick<RequestMetrics, 'observeRequest' | 'observeRepetition'>;
  private readonly searches: SearchObserver;
  private readonly slow: Pick<SlowRequests, 'note'>;
  private readonly logger: Logger;
  private readonly rule: RequestLogRule & AuditRule;
  private readonly audit: Pick<AuditLog, 'record'> | null;

  constructor(options: {
    metrics: Pick<RequestMetrics, 'observeRequest' | 'observeRepetition'>;
    searches: SearchObserver;
    slow: Pick<SlowRequests, 'note'>;
    logger: Logger;
    rule: RequestLogRule & AuditRule;
    audit?: Pick<AuditLog, 'record'> | null;
  }) {
    this.audit = options.audit ?? null;
    this.rule = options.rule;
    this.metrics = options.metrics;
    this.searches = options.searches;
    this.slow = options.slow;
    this.logger = options.logger;
  }

  requestAnswered(facts: AnsweredRequest): void {
    const { endpoint, method, code, keyId, steps } = facts;
    this.metrics.observeRequest(endpoint, code, facts.durationMs);
    if (facts.isReplayed === true) this.metrics.observeRepetition();
    if (steps !== null) {
      this.searches.phase('parse', steps.parseMs);
      this.searches.phase('serialise', steps.serialiseMs);
    }
    if (this.audit !== null && isAudited(this.rule, facts)) this.audit.record(auditEvent(facts, Date.now()));
    if (!isLogged(this.rule, facts)) return;
    // Slow ones are always in the log.
    this.slow.note(facts);
    const fields = {
      method,
      endpoint,
      code,
      ms: Math.round(facts.durationMs * 100) / 100,
      requestId: facts.requestId,
      keyId,
      ...(facts.collection !== null && { collection: facts.collection }),
      // The names that collectors of logs know.
      ...(facts.trace !== undefined && {
        trace_id: facts.trace.traceId,
        ...(facts.trace.spanId !== null && { span_id: facts.trace.spanId }),
      }),
      ...(facts.slow?.profile ? { profile: facts.slow.profile } : facts.slow?.steps ? { steps: facts.slow.steps } : {}),
      ...(code >= 500 && facts.error !== undefined && facts.error !== null ? errorFields(facts.error) : {}),
    };
    if (code >= 500) this.logger.error(fields, 'request failed');
    else if (code >= 400) this.logger.warn(fields, 'request refused');
    else this.logger.info(fields, 'request');
  }
}
