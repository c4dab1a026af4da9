import { MetricsRecorder, type ServiceMeasures } from '../../coordinator/metrics/metrics-recorder';
import { RequestReporter } from '../../coordinator/metrics/request-reporter';
import { createLogger } from '../../shared/logs/pino-logger';
import type { ShardStatus } from '../../shared/shard/shard-client';

const STATUS: ShardStatus = {
  vectorCount: 7,
  lastOperation: 40,
  lastStamp: 5,
  diskBytes: 1000,
  memoryBytes: 2000,
  segments: [
    { kind: 'growing', rows: 5, deletedRows: 1, ef: 0 },
    { kind: 'sealed', rows: 4, deletedRows: 2, ef: 96 },
  ],
};

function recorderOf(measure: () => Promise<ServiceMeasures>): { metrics: MetricsRecorder; errors: unknown[] } {
  const errors: unknown[] = [];
  return { metrics: new MetricsRecorder({ measure, onMeasureError: (error) => errors.push(error) }), errors };
}

/** The sample lines whose metric name starts with `prefix`. */
async function samples(metrics: MetricsRecorder, prefix: string): Promise<string[]> {
  return (await metrics.text()).split('\n').filter((line) => line.startsWith(prefix));
}

const nothing = async (): Promise<ServiceMeasures> => ({ collections: [], shards: [] });

describe('metrics', () => {
  test('requests are counted by endpoint and status', async () => {
    const { metrics } = recorderOf(nothing);
    metrics.observeRequest('/v1/query', 200, 3);
    metrics.observeRequest('/v1/query', 200, 4);
    metrics.observeRequest('/v1/query', 404, 1);
    metrics.observeRequest('unmatched', 404, 1);
    expect(await samples(metrics, 'vectordb_requests_total')).toEqual([
      'vectordb_requests_total{endpoint="/v1/query",status="200"} 2',
      'vectordb_requests_total{endpoint="/v1/query",status="404"} 1',
      'vectordb_requests_total{endpoint="unmatched",status="404"} 1',
    ]);
  });

  test('latency is a histogram in seconds', async () => {
    const { metrics } = recorderOf(nothing);
    metrics.observeRequest('/v1/query', 200, 3);
    metrics.observeRequest('/v1/query', 500, 700);
    const lines = await samples(metrics, 'vectordb_request_duration_seconds');
    expect(lines).toContain('vectordb_request_duration_seconds_bucket{le="0.0025",endpoint="/v1/query"} 0');
    expect(lines).toContain('vectordb_request_duration_seconds_bucket{le="0.005",endpoint="/v1/query"} 1');
    expect(lines).toContain('vectordb_request_duration_seconds_bucket{le="+Inf",endpoint="/v1/query"} 2');
    expect(lines).toContain('vectordb_request_duration_seconds_count{endpoint="/v1/query"} 2');
    expect(lines.find((line) => line.startsWith('vectordb_request_duration_seconds_sum'))).toMatch(/ 0\.703$/);
  });

  test('collections and shards are measured at every scrape; what is gone is not shown', async () => {
    let measures: ServiceMeasures = {
      collections: [{ name: 'books', vectorCount: 7 }, { name: 'films', vectorCount: 0 }],
      shards: [{ collection: 'books', shard: 0, status: STATUS }, { collection: 'films', shard: 3, status: null }],
    };
    const { metrics } = recorderOf(async () => measures);
    expect(await samples(metrics, 'vectordb_vectors_total')).toEqual(['vectordb_vectors_total{collection="books"} 7', 'vectordb_vectors_total{collection="films"} 0']);
    expect(await samples(metrics, 'vectordb_collections_total')).toEqual(['vectordb_collections_total 2']);
    expect((await samples(metrics, 'quiver_shard_')).sort()).toEqual([
      'quiver_shard_deleted_rows{collection="books",shard="0"} 3',
      'quiver_shard_disk_bytes{collection="books",shard="0"} 1000',
      'quiver_shard_growing_rows{collection="books",shard="0"} 5',
      'quiver_shard_last_operation{collection="books",shard="0"} 40',
      'quiver_shard_memory_bytes{collection="books",shard="0"} 2000',
      'quiver_shard_sealed_rows{collection="books",shard="0"} 4',
      'quiver_shard_search_effort{collection="books",shard="0"} 96',
      'quiver_shard_segments{collection="books",shard="0"} 2',
      'quiver_shard_up{collection="books",shard="0"} 1',
      'quiver_shard_up{collection="films",shard="3"} 0',
      'quiver_shard_vectors{collection="books",shard="0"} 7',
    ]);
    measures = { collections: [{ name: 'films', vectorCount: 1 }], shards: [] };
    expect(await samples(metrics, 'vectordb_vectors_total')).toEqual(['vectordb_vectors_total{collection="films"} 1']);
    expect(await samples(metrics, 'quiver_shard_')).toEqual([]);
  });

  test('a service that cannot be measured still has its other metrics, and the failure shows', async () => {
    let fails = false;
    const { metrics, errors } = recorderOf(async () => {
      if (fails) throw new Error('no answer');
      return { collections: [{ name: 'books', vectorCount: 7 }], shards: [] };
    });
    await metrics.text();
    fails = true;
    metrics.observeRequest('/v1/query', 200, 3);
    const text = await metrics.text();
    expect(text).toContain('vectordb_requests_total{endpoint="/v1/query",status="200"} 1');
    expect(text).toContain('quiver_measure_failures_total 1');
    expect(text).not.toMatch(/^vectordb_(vectors|collections)_total[ {]/m);
    expect(errors).toEqual([expect.objectContaining({ message: 'no answer' })]);
  });

  test('scrapes at the same time measure once, later ones again', async () => {
    let calls = 0;
    const { metrics } = recorderOf(async () => {
      calls += 1;
      return { collections: [], shards: [] };
    });
    await Promise.all([metrics.text(), metrics.text(), metrics.text()]);
    expect(calls).toBe(1);
    await metrics.text();
    expect(calls).toBe(2);
  });

  test('names and types are as documented, the process is there, two recorders do not meet', async () => {
    const { metrics } = recorderOf(nothing);
    const other = recorderOf(nothing).metrics;
    other.observeRequest('/v1/query', 200, 3);
    const text = await metrics.text();
    expect(metrics.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('# TYPE vectordb_requests_total counter');
    expect(text).toContain('# TYPE vectordb_request_duration_seconds histogram');
    expect(text).toContain('# TYPE vectordb_vectors_total gauge');
    expect(text).toContain('# TYPE vectordb_collections_total gauge');
    expect(text).toContain('process_resident_memory_bytes ');
    expect(text).toContain('nodejs_eventloop_lag_seconds ');
    expect(text).not.toContain('vectordb_requests_total{');
  });
});

describe('the reporter of requests', () => {
  const facts = { requestId: 'r1', method: 'POST', endpoint: '/v1/query', code: 200, durationMs: 1.23456, keyId: 4, error: undefined };

  function reporter(): { reporter: RequestReporter; observed: unknown[][]; lines: Record<string, any>[] } {
    const observed: unknown[][] = [];
    const lines: Record<string, any>[] = [];
    const logger = createLogger({ level: 'info', secrets: [], output: { write: (line) => lines.push(JSON.parse(line) as Record<string, any>), flush: () => Promise.resolve(), flushNow: () => undefined } });
    return {
      observed,
      lines,
      reporter: new RequestReporter({
        metrics: { observeRequest: (...call) => void observed.push(call) },
        logger,
      }),
    };
  }

  test('tells metrics and log, each once', () => {
    const { reporter: subject, observed, lines } = reporter();
    subject.requestAnswered(facts);
    expect(observed).toEqual([['/v1/query', 200, 1.23456]]);
    expect(lines).toEqual([{ level: 30, time: expect.any(String), msg: 'request', method: 'POST', endpoint: '/v1/query', code: 200, ms: 1.23, requestId: 'r1', keyId: 4 }]);
  });

  test('the level follows the code; only a failure shows its error', () => {
    const { reporter: subject, lines } = reporter();
    for (const code of [200, 404, 429, 500]) subject.requestAnswered({ ...facts, code, error: new Error('why') });
    expect(lines.map((line) => line.level)).toEqual([30, 40, 40, 50]);
    expect(lines.map((line) => line.error?.message)).toEqual([undefined, undefined, undefined, 'why']);
  });
});
