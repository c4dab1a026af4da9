import { Counter, Gauge, Histogram } from 'prom-client';
import type { EtcdCallOutcome, EtcdObserver } from '../etcd/etcd-observer';
import type { ProcessMetrics } from '../../base/metrics/process-metrics';

/** From a fast read to the deadline of a call, in seconds. */
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3];

/**
 * How etcd answers this process. Every member reads from etcd every five seconds, so `quiver_etcd_up` is never older
 * than that.
 */
export class EtcdMetrics implements EtcdObserver {
  private readonly up: Gauge;
  private readonly requests: Counter<'method' | 'outcome'>;
  private readonly durations: Histogram<'method'>;
  private readonly refused: Counter;

  constructor(metrics: ProcessMetrics) {
    const registers = [metrics.registry];
    this.up = new Gauge({
      name: 'quiver_etcd_up',
      help: '1 when etcd answered the last call of this process, else 0',
      registers,
    });
    this.requests = new Counter({
      name: 'quiver_etcd_requests_total',
      help: 'Calls to etcd by method and outcome',
      labelNames: ['method', 'outcome'],
      registers,
    });
    this.durations = new Histogram({
      name: 'quiver_etcd_request_duration_seconds',
      help: 'Time from a call to etcd to its answer',
      labelNames: ['method'],
      buckets: DURATION_BUCKETS,
      registers,
    });
    this.refused = new Counter({
      name: 'quiver_etcd_entries_refused_total',
      help: 'Entries of etcd that were ignored because their seal is missing or wrong',
      registers,
    });
  }

  /** Counts an entry that no member of this cluster made. */
  entryRefused(): void {
    this.refused.inc();
  }

  called(method: string, outcome: EtcdCallOutcome, durationMs: number): void {
    // A refusal is an answer, so etcd is up.
    this.up.set(outcome === 'failed' ? 0 : 1);
    this.requests.inc({ method, outcome });
    this.durations.observe({ method }, durationMs / 1000);
  }
}
