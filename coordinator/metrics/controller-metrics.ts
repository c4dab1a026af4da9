import { Counter } from 'prom-client';
import type { ProcessMetrics } from '../../shared/metrics/process-metrics';
import { CHANGE_REASONS, type ChangeReason } from '../cluster/planned-change';

/** What this coordinator has changed in the shard map while it was the controller. */
export class ControllerMetrics {
  private readonly changes: Counter<'reason'>;

  constructor(metrics: ProcessMetrics) {
    this.changes = new Counter({ name: 'quiver_shard_map_changes_total', help: 'Changes of the shard map that this coordinator made as the controller', labelNames: ['reason'], registers: [metrics.registry] });
    for (const reason of CHANGE_REASONS) this.changes.inc({ reason }, 0);
  }

  changed(reason: ChangeReason): void {
    this.changes.inc({ reason });
  }
}
