import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { IssuerKeys } from '../../service/keys/tokens/issuer-keys';

/** What is known of the tokens' issuer, where tokens are taken. */
export function addTokenMetrics(metrics: ProcessMetrics, keys: IssuerKeys | null): void {
  if (keys === null) return;
  metrics.gauge('quiver_token_keys', 'Public keys of the issuer of bearer tokens that are known', () => keys.count);
  metrics.gauge(
    'quiver_token_keys_age_seconds',
    'Time since these were read; NaN: they never were',
    () => keys.ageSeconds ?? NaN,
  );
  metrics.gauge(
    'quiver_token_keys_failed_reads',
    'Times since the start that they could not be read',
    () => keys.failed,
  );
}
