import type { RegisteredEntry } from '../entries/registered-entry';
import type { ProcessMetrics } from '../../base/metrics/process-metrics';

/** Adds a gauge that says whether the process is registered as a member of the cluster, as far as it knows. */
export function addRegistrationMetric(metrics: ProcessMetrics, registration: RegisteredEntry): void {
  metrics.gauge('quiver_member_registered', '1 when the process holds its session with the cluster store, else 0', () =>
    registration.isRegistered ? 1 : 0,
  );
}
