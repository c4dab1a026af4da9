import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { ShardStatus } from '../../shared/shard/shard-client';

/** From half a millisecond (a search that hits memory) to a minute (REQUEST_TIMEOUT_MS by default), in seconds. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** What the gauges show at the moment of a scrape. */
export interface ServiceMeasures {
  collections: { name: string; vectorCount: number }[];
  /** null: the shard did not answer. */
  shards: { collection: string; shard: number; status: ShardStatus | null }[];
}

/** The gauges of one shard: name, help, and the value read from its status. */
const SHARD_GAUGES: [name: string, help: string, read: (status: ShardStatus) => number][] = [
  ['quiver_shard_vectors', 'Live vectors in the shard', (status) => status.vectorCount],
  ['quiver_shard_segments', 'Segments of the vector index', (status) => status.segments.length],
  ['quiver_shard_growing_rows', 'Rows of the vector index that no graph holds yet', (status) => rows(status, 'growing')],
  ['quiver_shard_sealed_rows', 'Rows of the vector index in a graph', (status) => rows(status, 'sealed')],
  ['quiver_shard_deleted_rows', 'Rows of the vector index that await removal', (status) => sum(status.segments.map((segment) => segment.deletedRows))],
  ['quiver_shard_search_effort', 'Largest calibrated effort (ef) of the segments; 0 where all are scanned', (status) => Math.max(0, ...status.segments.map((segment) => segment.ef))],
  ['quiver_shard_memory_bytes', 'Memory held by the structures of the shard, mapped originals not counted', (status) => status.memoryBytes],
  ['quiver_shard_disk_bytes', 'Disk space of the shard', (status) => status.diskBytes],
  ['quiver_shard_last_operation', 'Number of the last applied operation batch', (status) => status.lastOperation],
];

/**
 * The Prometheus metrics of a coordinator, in a registry of their own. Labels are bounded: `endpoint` is a route's
 * template or `unmatched`, `status` is the envelope's code (`200` for success), the rest are collections and shards.
 */
export class MetricsRecorder {
  private readonly registry = new Registry();
  private readonly measure: () => Promise<ServiceMeasures>;
  private readonly onMeasureError: (error: unknown) => void;
  private readonly requests: Counter<'endpoint' | 'status'>;
  private readonly durations: Histogram<'endpoint'>;
  private readonly collectionVectors: Gauge<'collection'>;
  private readonly collections: Gauge;
  private readonly shardUp: Gauge<'collection' | 'shard'>;
  private readonly shardGauges: { gauge: Gauge<'collection' | 'shard'>; read: (status: ShardStatus) => number }[];
  private readonly measureFailures: Counter;
  private scrape: Promise<string> | null = null;

  /**
   * `measure` is asked at every scrape; it should answer within a scrape's time (10 s by Prometheus's default).
   * When it fails, `onMeasureError` hears why and the scrape goes on without the gauges.
   */
  constructor(options: { measure: () => Promise<ServiceMeasures>; onMeasureError: (error: unknown) => void }) {
    this.measure = options.measure;
    this.onMeasureError = options.onMeasureError;
    const registers = [this.registry];
    this.requests = new Counter({ name: 'vectordb_requests_total', help: 'Requests by endpoint and status', labelNames: ['endpoint', 'status'], registers });
    this.durations = new Histogram({
      name: 'vectordb_request_duration_seconds',
      help: 'Time from a request to its answer',
      labelNames: ['endpoint'],
      buckets: DURATION_BUCKETS,
      registers,
    });
    this.collectionVectors = new Gauge({ name: 'vectordb_vectors_total', help: 'Vectors per collection', labelNames: ['collection'], registers });
    this.collections = new Gauge({ name: 'vectordb_collections_total', help: 'Collections', registers });
    this.shardUp = new Gauge({ name: 'quiver_shard_up', help: '1 when the shard answers, else 0', labelNames: ['collection', 'shard'], registers });
    this.shardGauges = SHARD_GAUGES.map(([name, help, read]) => ({
      gauge: new Gauge({ name, help, labelNames: ['collection', 'shard'], registers }),
      read,
    }));
    this.measureFailures = new Counter({ name: 'quiver_measure_failures_total', help: 'Scrapes that had to do without the gauges', registers });
    collectDefaultMetrics({ register: this.registry });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** `endpoint`: the route's template, or `unmatched`. `code`: the envelope's. */
  observeRequest(endpoint: string, code: number, durationMs: number): void {
    this.requests.inc({ endpoint, status: String(code) });
    this.durations.observe({ endpoint }, durationMs / 1000);
  }

  /** The metrics in Prometheus's text format. Scrapes at the same time share one measuring. */
  text(): Promise<string> {
    this.scrape ??= this.collect().finally(() => {
      this.scrape = null;
    });
    return this.scrape;
  }

  private async collect(): Promise<string> {
    const measures = await this.measure().catch((error: unknown) => {
      this.measureFailures.inc();
      this.onMeasureError(error);
      return null;
    });
    this.showMeasures(measures);
    return this.registry.metrics();
  }

  /** Old values go first: what can't be measured or was deleted must not be shown as it was. */
  private showMeasures(measures: ServiceMeasures | null): void {
    this.collectionVectors.reset();
    this.collections.remove();
    this.shardUp.reset();
    for (const { gauge } of this.shardGauges) gauge.reset();
    if (measures === null) return;
    this.collections.set(measures.collections.length);
    for (const { name, vectorCount } of measures.collections) this.collectionVectors.set({ collection: name }, vectorCount);
    for (const { collection, shard, status } of measures.shards) {
      const labels = { collection, shard: String(shard) };
      this.shardUp.set(labels, status === null ? 0 : 1);
      if (status !== null) for (const { gauge, read } of this.shardGauges) gauge.set(labels, read(status));
    }
  }
}

function rows(status: ShardStatus, kind: 'growing' | 'sealed'): number {
  return sum(status.segments.filter((segment) => segment.kind === kind).map((segment) => segment.rows));
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
