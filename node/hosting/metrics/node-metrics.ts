import { Counter } from 'prom-client';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';
import type { StepHistogram } from '../../../shared/base/metrics/step-histogram';
import { FOLLOWER_READS, type FollowerRead } from '../../replication/replica';
import { NODE_OPERATIONS, type NodeOperation, type OperationObserver } from '../services/operation-observer';
import type { NodeLimits } from '../services/shard-service';

/** From a look-up in memory to the deadline of a call, in seconds. */
const DURATION_BUCKETS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** What a storage node does for coordinators and for other nodes. */
export class NodeMetrics implements OperationObserver {
  private readonly durations: StepHistogram<NodeOperation>;
  private readonly failures: Counter<'operation'>;

  constructor(metrics: ProcessMetrics, limits: NodeLimits) {
    this.durations = metrics.stepHistogram({
      name: 'quiver_node_operation_duration_seconds',
      help: 'Time from the arrival of a call of a coordinator to its answer, by operation',
      label: 'operation',
      steps: NODE_OPERATIONS,
      buckets: DURATION_BUCKETS,
    });
    this.failures = new Counter({
      name: 'quiver_node_operation_failures_total',
      help: 'Calls of coordinators that were answered with an error, misrouted ones included',
      labelNames: ['operation'],
      registers: [metrics.registry],
    });
    for (const operation of NODE_OPERATIONS) this.failures.inc({ operation }, 0);
    metrics.gauge('quiver_node_reads_running', 'Reads of coordinators being worked on', () => limits.reads.used);
    metrics.gauge(
      'quiver_node_answer_bytes',
      'Bytes of answers to coordinators, from when they are read until they are taken',
      () => limits.answers.held,
    );
    metrics.gauge('quiver_write_queue_bytes', 'Bytes of writes that wait, of all shards', () => limits.writeBytes.used);
  }

  done(operation: NodeOperation, durationMs: number, outcome: 'answered' | 'failed'): void {
    this.durations.observe(operation, durationMs / 1000);
    if (outcome === 'failed') this.failures.inc({ operation });
  }
}

const COMPARISON_OUTCOMES = ['same', 'different', 'skipped', 'failed'] as const;

/** Counts the comparisons of replicas that a node has made, by what became of each. */
export function comparisonCounter(metrics: ProcessMetrics): (outcome: (typeof COMPARISON_OUTCOMES)[number]) => void {
  const comparisons = new Counter({
    name: 'quiver_replica_comparisons_total',
    help:
      'Comparisons of the in-sync replicas of a shard by its primary; skipped: a replica was not ready for it; ' +
      'failed: that of the primary could not be read',
    labelNames: ['outcome'],
    registers: [metrics.registry],
  });
  for (const outcome of COMPARISON_OUTCOMES) comparisons.inc({ outcome }, 0);
  return (outcome) => comparisons.inc({ outcome });
}

/** Counts the searches on the threads of a node that answer reads. */
export function threadSearchCounter(metrics: ProcessMetrics): (answered: number, passedOn: number) => void {
  const searches = new Counter({
    name: 'quiver_thread_searches_total',
    help:
      'Searches that came to threads that answer reads; passed_on: the main thread answered, because of what is ' +
      'unusual, long, or changed meanwhile',
    labelNames: ['outcome'],
    registers: [metrics.registry],
  });
  const add = (answered: number, passedOn: number): void => {
    searches.inc({ outcome: 'answered' }, answered);
    searches.inc({ outcome: 'passed_on' }, passedOn);
  };
  add(0, 0);
  return add;
}

/** Counts the reads that came to replicas of a node that do not lead, by what became of each. */
export function followerReadCounter(metrics: ProcessMetrics): (outcome: FollowerRead, count?: number) => void {
  const reads = new Counter({
    name: 'quiver_follower_reads_total',
    help:
      'Reads of replicas that do not lead; refused, lagging: sent on to the primary, because the replica had no ' +
      'share in its lease, or did not hear in time what is committed',
    labelNames: ['outcome'],
    registers: [metrics.registry],
  });
  for (const outcome of FOLLOWER_READS) reads.inc({ outcome }, 0);
  return (outcome, count = 1) => reads.inc({ outcome }, count);
}

/** Adds the copies of shards that a node sends to others. */
export function addCopyMetrics(
  metrics: ProcessMetrics,
  counts: Readonly<{ underWay: number; installed: number; failed: number; sentBytes: number }>,
): void {
  metrics.gauge('quiver_copies_running', 'Copies of shards that this node sends', () => counts.underWay);
  metrics.counter(
    'quiver_copies_installed_total',
    'Copies of shards that took their place on another node',
    () => counts.installed,
  );
  metrics.counter('quiver_copies_failed_total', 'Copies of shards that came to nothing', () => counts.failed);
  metrics.counter('quiver_copy_sent_bytes_total', 'Bytes of copies of shards that were sent', () => counts.sentBytes);
}
