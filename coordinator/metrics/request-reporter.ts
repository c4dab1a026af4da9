import type { Logger } from '../../shared/logs/logger';
import type { AnsweredRequest, RequestObserver } from '../http/observer';
import type { KeyUsage } from '../keys/keys-service';
import type { MetricsRecorder } from './metrics-recorder';

/** The endpoint of requests that no route took: their paths are strangers' and must not become labels or log fields. */
const UNMATCHED = 'unmatched';

/** Reports every answered request to the metrics, to its key's usage and, in one line, to the log. */
export class RequestReporter implements RequestObserver {
  private readonly metrics: Pick<MetricsRecorder, 'observeRequest'>;
  private readonly usage: Pick<KeyUsage, 'record'>;
  private readonly logger: Logger;

  constructor(options: { metrics: Pick<MetricsRecorder, 'observeRequest'>; usage: Pick<KeyUsage, 'record'>; logger: Logger }) {
    this.metrics = options.metrics;
    this.usage = options.usage;
    this.logger = options.logger;
  }

  requestAnswered(facts: AnsweredRequest): void {
    const { endpoint, method, code, keyId } = facts;
    const name = endpoint === UNMATCHED ? UNMATCHED : `${method} ${endpoint}`;
    this.metrics.observeRequest(endpoint, code, facts.durationMs);
    if (keyId !== null) this.usage.record(keyId, name);
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
