import { Histogram, Registry } from 'prom-client';
import { addClusterMetrics } from '../../coordinator/metrics/cluster-metrics';
import { addCollectionMetrics } from '../../coordinator/metrics/collection-metrics';
import { MeasuredEmbedding } from '../../coordinator/metrics/measured-embedding';
import { RequestMetrics } from '../../coordinator/metrics/request-metrics';
import { RequestReporter, type RequestLogRule } from '../../coordinator/metrics/request-reporter';
import type { ShardReading } from '../../coordinator/collections/shard-reading';
import type { ClusterView } from '../../coordinator/operations/operations-service';
import { addReplicaMetrics } from '../../node/metrics/replica-metrics';
import type { ReplicaObservation } from '../../node/shard/shard-observation';
import { createLogger } from '../../shared/logs/pino-logger';
import { EtcdMetrics } from '../../shared/metrics/etcd-metrics';
import { LABELLED_SHARDS_MAX, OTHER_COLLECTIONS } from '../../shared/metrics/label-bounds';
import { ProcessMetrics } from '../../shared/metrics/process-metrics';
import { StepHistogram } from '../../shared/metrics/step-histogram';
import type { ShardStatus } from '../../shared/shard/shard-read';
import { ManualClock } from '../../shared/time/clock';

const STATUS: ShardStatus = {
  vectorCount: 7,
  lastOperation: 40,
  lastStamp: 5,
  diskBytes: 1000,
  memoryBytes: 2000,
  segments: [
    { kind: 'growing', rows: 8, deletedRows: 1, ef: 0 },
    { kind: 'sealed', rows: 4, deletedRows: 2, ef: 96 },
  ],
};

function reading(collection: string, shard: number, status: ShardStatus | null): ShardReading {
  return { collection, collectionUid: `uid-of-${collection}`, shard, status };
}

function metricsOfProcess(measureTimeoutMs?: number, clock?: ManualClock): { metrics: ProcessMetrics; errors: unknown[] } {
  const errors: unknown[] = [];
  const identity = { role: 'coordinator', member: 'coordinator-0', version: '1.2.3' } as const;
  return { metrics: new ProcessMetrics({ identity, onMeasureError: (error) => errors.push(error), measureTimeoutMs, clock }), errors };
}

/** The sample lines whose metric name starts with `prefix`, sorted. */
async function samples(metrics: ProcessMetrics, prefix: string): Promise<string[]> {
  return (await metrics.text()).split('\n').filter((line) => line.startsWith(prefix)).sort();
}

describe('the metrics of a process', () => {
  test('say what it is and how it is, under the contract’s content type', async () => {
    const { metrics } = metricsOfProcess();
    const { contentType, text: bytes } = await metrics.read();
    const text = bytes.toString();
    expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('quiver_process_info{role="coordinator",member="coordinator-0",version="1.2.3"} 1');
    expect(text).toContain('process_resident_memory_bytes ');
    expect(text).toContain('nodejs_eventloop_lag_seconds ');
    expect(text).toContain('# TYPE quiver_event_loop_delay_seconds histogram');
  });

  test('of two processes do not meet', async () => {
    const one = metricsOfProcess().metrics;
    new RequestMetrics(one).observeRequest('/v1/query', 200, 3);
    const other = metricsOfProcess().metrics;
    new RequestMetrics(other);
    expect(await samples(other, 'vectordb_requests_total')).toEqual([]);
  });

  test('go without a part that fails or is late, whose old values are not shown, and say so', async () => {
    const { metrics, errors } = metricsOfProcess(20);
    let answer: () => Promise<ShardReading[] | null> = async () => [reading('books', 0, STATUS)];
    addCollectionMetrics(metrics, () => answer());
    new RequestMetrics(metrics).observeRequest('/v1/query', 200, 3);
    expect(await samples(metrics, 'vectordb_vectors_total')).toEqual(['vectordb_vectors_total{collection="books"} 7']);
    answer = () => Promise.reject(new Error('no answer'));
    expect(await samples(metrics, 'vectordb_')).not.toContainEqual(expect.stringMatching(/^vectordb_(vectors|collections)_total/));
    answer = () => new Promise(() => undefined);
    const text = await metrics.text();
    expect(text).toContain('quiver_measure_failures_total 2');
    expect(text).toContain('vectordb_requests_total{endpoint="/v1/query",status="200"} 1');
    expect(text).not.toMatch(/^(vectordb_(vectors|collections)_total|quiver_shard_up)[ {]/m);
    expect(errors).toEqual([expect.objectContaining({ message: 'no answer' }), expect.objectContaining({ message: 'not measured within 20 ms' })]);
  });

  test('show nothing of a service that is not there yet, and call that no failure', async () => {
    const { metrics, errors } = metricsOfProcess();
    addCollectionMetrics(metrics, async () => null);
    expect(await samples(metrics, 'vectordb_')).toEqual([]);
    expect(await samples(metrics, 'quiver_measure_failures_total')).toEqual(['quiver_measure_failures_total 0']);
    expect(errors).toEqual([]);
  });

  test('are measured once for everybody who asks within a second', async () => {
    const clock = new ManualClock();
    const { metrics } = metricsOfProcess(undefined, clock);
    let calls = 0;
    addCollectionMetrics(metrics, async () => {
      calls += 1;
      return [];
    });
    const [first, second] = await Promise.all([metrics.read(), metrics.read()]);
    clock.advance(999);
    const third = await metrics.read();
    expect(calls).toBe(1);
    expect(second).toBe(first);
    expect(third).toBe(first);
    clock.advance(1);
    await metrics.read();
    expect(calls).toBe(2);
  });
});

describe('the metrics of requests', () => {
  test('count by endpoint and status, and measure in seconds', async () => {
    const { metrics } = metricsOfProcess();
    const requests = new RequestMetrics(metrics);
    requests.observeRequest('/v1/query', 200, 3);
    requests.observeRequest('/v1/query', 200, 4);
    requests.observeRequest('/v1/query', 404, 700);
    requests.observeRequest('unmatched', 404, 1);
    expect(await samples(metrics, 'vectordb_requests_total')).toEqual([
      'vectordb_requests_total{endpoint="/v1/query",status="200"} 2',
      'vectordb_requests_total{endpoint="/v1/query",status="404"} 1',
      'vectordb_requests_total{endpoint="unmatched",status="404"} 1',
    ]);
    const lines = await samples(metrics, 'vectordb_request_duration_seconds');
    expect(lines).toContain('vectordb_request_duration_seconds_bucket{le="0.0025",endpoint="/v1/query"} 0');
    expect(lines).toContain('vectordb_request_duration_seconds_bucket{le="0.005",endpoint="/v1/query"} 2');
    expect(lines).toContain('vectordb_request_duration_seconds_bucket{le="+Inf",endpoint="/v1/query"} 3');
    expect(lines).toContain('vectordb_request_duration_seconds_count{endpoint="/v1/query"} 3');
    expect(lines.find((line) => line.startsWith('vectordb_request_duration_seconds_sum{endpoint="/v1/query"}'))).toMatch(/ 0\.707$/);
  });
});

describe('the metrics of collections', () => {
  test('count each vector once, leave out what is not known, and forget what is gone', async () => {
    const { metrics } = metricsOfProcess();
    let readings = [reading('books', 0, STATUS), reading('books', 1, STATUS), reading('films', 0, STATUS), reading('films', 1, null)];
    addCollectionMetrics(metrics, async () => readings);
    expect(await samples(metrics, 'vectordb_')).toEqual(['vectordb_collections_total 2', 'vectordb_vectors_total{collection="books"} 14']);
    expect(await samples(metrics, 'quiver_collection_info')).toEqual([
      'quiver_collection_info{collection="books",collection_uid="uid-of-books"} 1',
      'quiver_collection_info{collection="films",collection_uid="uid-of-films"} 1',
    ]);
    expect((await samples(metrics, 'quiver_shard_')).filter((line) => line.includes('"films"') || line.includes('shard="0"'))).toEqual([
      'quiver_shard_deleted_ratio{collection="books",shard="0"} 0.25',
      'quiver_shard_deleted_ratio{collection="films",shard="0"} 0.25',
      'quiver_shard_deleted_rows{collection="books",shard="0"} 3',
      'quiver_shard_deleted_rows{collection="films",shard="0"} 3',
      'quiver_shard_disk_bytes{collection="books",shard="0"} 1000',
      'quiver_shard_disk_bytes{collection="films",shard="0"} 1000',
      'quiver_shard_growing_rows{collection="books",shard="0"} 8',
      'quiver_shard_growing_rows{collection="films",shard="0"} 8',
      'quiver_shard_last_operation{collection="books",shard="0"} 40',
      'quiver_shard_last_operation{collection="films",shard="0"} 40',
      'quiver_shard_memory_bytes{collection="books",shard="0"} 2000',
      'quiver_shard_memory_bytes{collection="films",shard="0"} 2000',
      'quiver_shard_sealed_rows{collection="books",shard="0"} 4',
      'quiver_shard_sealed_rows{collection="films",shard="0"} 4',
      'quiver_shard_search_effort{collection="books",shard="0"} 96',
      'quiver_shard_search_effort{collection="films",shard="0"} 96',
      'quiver_shard_segments{collection="books",shard="0"} 2',
      'quiver_shard_segments{collection="films",shard="0"} 2',
      'quiver_shard_up{collection="books",shard="0"} 1',
      'quiver_shard_up{collection="films",shard="0"} 1',
      'quiver_shard_up{collection="films",shard="1"} 0',
      'quiver_shard_vectors{collection="books",shard="0"} 7',
      'quiver_shard_vectors{collection="films",shard="0"} 7',
    ]);
    readings = [reading('films', 0, { ...STATUS, vectorCount: 1 })];
    expect(await samples(metrics, 'vectordb_vectors_total')).toEqual(['vectordb_vectors_total{collection="films"} 1']);
    expect((await samples(metrics, 'quiver_')).filter((line) => line.includes('"books"'))).toEqual([]);
  });

  test('have a bounded number of labels, and still the whole sum', async () => {
    const { metrics } = metricsOfProcess();
    addCollectionMetrics(metrics, async () => Array.from({ length: LABELLED_SHARDS_MAX + 3 }, (_, i) => reading(`c${i}`, 0, STATUS)));
    expect(await samples(metrics, 'vectordb_collections_total')).toEqual([`vectordb_collections_total ${LABELLED_SHARDS_MAX + 3}`]);
    expect(await samples(metrics, 'quiver_collections_unlabelled')).toEqual(['quiver_collections_unlabelled 3']);
    expect(await samples(metrics, 'quiver_shard_up')).toHaveLength(LABELLED_SHARDS_MAX);
    const vectors = await samples(metrics, 'vectordb_vectors_total');
    expect(vectors).toContain(`vectordb_vectors_total{collection="${OTHER_COLLECTIONS}"} 21`);
    expect(vectors).toHaveLength(LABELLED_SHARDS_MAX + 1);
  });
});

describe('the metrics of the cluster', () => {
  const shard = { collection: 'books', shard: 0, epoch: 4, primary: 'node-0', inSync: ['node-0'], learners: [{ node: 'node-1', progress: 0.5 }], state: 'degraded', vectors: 7, lastOperation: 40, lagOperations: { 'node-0': 0, 'node-1': 20 } } as const;
  const node = { id: 'node-0', address: 'a:1', zone: '', pid: 1, state: 'up', primaries: 1, replicas: 0, vectors: 7, diskBytes: 500 } as const;
  const view: ClusterView = {
    mode: 'cluster',
    controller: 'coordinator-0',
    coordinators: [{ id: 'coordinator-0', address: 'a:2', pid: 2, startedAt: '' }],
    nodes: [node, { ...node, id: 'node-1', state: 'down', primaries: 0, replicas: 1 }],
    shards: [{ ...shard, inSync: [...shard.inSync], learners: [...shard.learners], lagOperations: { ...shard.lagOperations } }],
    moves: [{ collection: 'books', shard: 0, from: 'node-2', to: 'node-1', phase: 'copying', progress: 0.5 }],
  };

  test('show members, replicas, lag and moves, and a 0 for every state that nothing is in', async () => {
    const { metrics } = metricsOfProcess();
    addClusterMetrics(metrics, { coordinatorId: 'coordinator-0', read: async () => view });
    const lines = (await samples(metrics, 'quiver_')).filter((line) => !/process_info|event_loop|measure/.test(line));
    expect(lines).toEqual([
      'quiver_controller 1',
      'quiver_coordinators 1',
      'quiver_move_progress_ratio{collection="books",shard="0",from="node-2",to="node-1",phase="copying"} 0.5',
      'quiver_moves 1',
      'quiver_node_disk_bytes{node="node-0"} 500',
      'quiver_node_disk_bytes{node="node-1"} 500',
      'quiver_node_primaries{node="node-0"} 1',
      'quiver_node_primaries{node="node-1"} 0',
      'quiver_node_replicas{node="node-0"} 0',
      'quiver_node_replicas{node="node-1"} 1',
      'quiver_node_up{node="node-0"} 1',
      'quiver_node_up{node="node-1"} 0',
      'quiver_nodes{state="down"} 1',
      'quiver_nodes{state="drained"} 0',
      'quiver_nodes{state="draining"} 0',
      'quiver_nodes{state="up"} 1',
      'quiver_shard_epoch{collection="books",shard="0"} 4',
      'quiver_shard_in_sync_replicas{collection="books",shard="0"} 1',
      'quiver_shard_lag_operations{collection="books",shard="0",node="node-0"} 0',
      'quiver_shard_lag_operations{collection="books",shard="0",node="node-1"} 20',
      'quiver_shard_learner_progress_ratio{collection="books",shard="0",node="node-1"} 0.5',
      'quiver_shard_replicas{collection="books",shard="0"} 2',
      'quiver_shards{state="degraded"} 1',
      'quiver_shards{state="ok"} 0',
      'quiver_shards{state="unavailable"} 0',
    ]);
  });

  test('of a coordinator that another one controls say so', async () => {
    const { metrics } = metricsOfProcess();
    addClusterMetrics(metrics, { coordinatorId: 'coordinator-1', read: async () => view });
    expect(await samples(metrics, 'quiver_controller')).toEqual(['quiver_controller 0']);
  });
});

describe('the metrics of replicas', () => {
  const replica: ReplicaObservation = {
    collectionUid: 'u1', shard: 2, leads: true, epoch: 3, lastSequence: 50, appliedSequence: 49, pendingWrites: 1, lagMax: 6,
    data: {
      status: STATUS,
      memory: { vectorIndex: 10, directory: 20, filterIndex: 30, keywordIndex: 40, store: { memtableBytes: 50, tableReaderBytes: 70 } },
      checkpoint: { atMs: 1_700_000_000_500, unsavedChanges: 12 },
    },
  };

  test('show each replica, where its memory is, and sums over those that lead', async () => {
    const { metrics } = metricsOfProcess();
    addReplicaMetrics(metrics, async () => [replica, { ...replica, shard: 1, leads: false, lagMax: 0 }]);
    const lines = (await samples(metrics, 'quiver_replica')).filter((line) => !line.includes('shard="1"'));
    const labels = '{collection_uid="u1",shard="2"}';
    expect(lines).toEqual([
      `quiver_replica_applied_sequence${labels} 49`,
      `quiver_replica_checkpoint_timestamp_seconds${labels} 1700000000.5`,
      `quiver_replica_disk_bytes${labels} 1000`,
      `quiver_replica_epoch${labels} 3`,
      `quiver_replica_lag_operations${labels} 6`,
      `quiver_replica_last_sequence${labels} 50`,
      `quiver_replica_leads${labels} 1`,
      ...['directory"} 20', 'filter_index"} 30', 'keyword_index"} 40', 'rocksdb_memtables"} 50', 'rocksdb_table_readers"} 70', 'vector_index"} 10'].map(
        (end) => `quiver_replica_memory_bytes{collection_uid="u1",shard="2",part="${end}`,
      ),
      `quiver_replica_pending_writes${labels} 1`,
      `quiver_replica_unsaved_changes${labels} 12`,
      `quiver_replica_vectors${labels} 7`,
      'quiver_replicas 2',
      'quiver_replicas_disk_bytes 2000',
      'quiver_replicas_leading 1',
      'quiver_replicas_unlabelled 0',
      'quiver_replicas_vectors 7',
    ]);
  });

  test('have a bounded number of labels', async () => {
    const { metrics } = metricsOfProcess();
    addReplicaMetrics(metrics, async () => Array.from({ length: LABELLED_SHARDS_MAX + 2 }, (_, shard) => ({ ...replica, shard })));
    expect(await samples(metrics, 'quiver_replica_leads')).toHaveLength(LABELLED_SHARDS_MAX);
    expect(await samples(metrics, 'quiver_replicas_unlabelled')).toEqual(['quiver_replicas_unlabelled 2']);
    expect(await samples(metrics, 'quiver_replicas_vectors')).toEqual([`quiver_replicas_vectors ${7 * (LABELLED_SHARDS_MAX + 2)}`]);
  });
});

describe('the metrics of embedding', () => {
  test('measure each call, failed ones too, and change nothing of the answer', async () => {
    const { metrics } = metricsOfProcess();
    let fails = false;
    const vector = Float32Array.of(1, 0);
    const model = {
      name: 'm',
      dim: 2,
      embed: async (texts: string[]) => {
        if (fails) throw new Error('too warm');
        return texts.map(() => vector);
      },
    };
    const status = () => ({ configured: 'm', active: 'm', fallbackReason: null });
    const provider = new MeasuredEmbedding({ defaultModel: async () => model, model: async () => model, status }, metrics);
    const measured = await provider.defaultModel();
    expect(await provider.model('m')).toBe(measured);
    expect([measured.name, measured.dim, provider.status()]).toEqual(['m', 2, status()]);
    expect(await measured.embed(['a', 'b', 'c'], { dim: 2, kind: 'passage' })).toEqual([vector, vector, vector]);
    fails = true;
    await expect(measured.embed(['a'], { dim: 2, kind: 'query' })).rejects.toThrow('too warm');
    const text = await metrics.text();
    expect(text).toContain('quiver_embedding_batch_texts_bucket{le="2",kind="passage"} 0');
    expect(text).toContain('quiver_embedding_batch_texts_bucket{le="4",kind="passage"} 1');
    expect(text).toContain('quiver_embedding_duration_seconds_count{kind="query"} 1');
    expect(text).toContain('quiver_embedding_failures_total{kind="passage"} 0');
    expect(text).toContain('quiver_embedding_failures_total{kind="query"} 1');
  });
});

describe('the metrics of etcd', () => {
  test('say whether it answered last, what it refuses included', async () => {
    const { metrics } = metricsOfProcess();
    const etcd = new EtcdMetrics(metrics);
    etcd.called('KV.Range', 'failed', 3000);
    expect(await samples(metrics, 'quiver_etcd_up')).toEqual(['quiver_etcd_up 0']);
    etcd.called('KV.Txn', 'refused', 2);
    expect(await samples(metrics, 'quiver_etcd_up')).toEqual(['quiver_etcd_up 1']);
    expect(await samples(metrics, 'quiver_etcd_requests_total')).toEqual([
      'quiver_etcd_requests_total{method="KV.Range",outcome="failed"} 1',
      'quiver_etcd_requests_total{method="KV.Txn",outcome="refused"} 1',
    ]);
  });
});

describe('a histogram of steps', () => {
  test('writes what prom-client’s own writes, every step from the start', async () => {
    const registry = new Registry();
    const facts = { name: 'x_seconds', help: 'X', buckets: [0.1, 1] };
    const histogram = new StepHistogram({ ...facts, label: 'step', steps: ['one', 'two'] });
    const theirs = new Histogram({ ...facts, labelNames: ['step'], registers: [registry] });
    theirs.zero({ step: 'one' });
    for (const value of [0.05, 0.1, 0.5, 7]) {
      histogram.observe('two', value);
      theirs.observe({ step: 'two' }, value);
    }
    expect(histogram.text()).toBe((await registry.metrics()).trimEnd());
    expect(histogram.text()).toContain('x_seconds_bucket{le="+Inf",step="two"} 4\nx_seconds_sum{step="two"} 7.65');
  });
});

describe('the reporter of requests', () => {
  const facts = { requestId: 'r1', method: 'POST', endpoint: '/v1/query', code: 200, durationMs: 1.23456, keyId: 4, isAdministrative: false, steps: null, error: undefined };

  function reporter(rule: RequestLogRule = { logRequests: 'all', logSlowMs: 1000 }): { reporter: RequestReporter; observed: unknown[][]; phases: unknown[][]; lines: Record<string, any>[] } {
    const observed: unknown[][] = [];
    const phases: unknown[][] = [];
    const lines: Record<string, any>[] = [];
    const logger = createLogger({ level: 'info', secrets: [], output: { write: (line) => lines.push(JSON.parse(line) as Record<string, any>), flush: () => Promise.resolve(), flushNow: () => undefined } });
    return {
      observed,
      phases,
      lines,
      reporter: new RequestReporter({
        metrics: { observeRequest: (...call) => void observed.push(call) },
        searches: { phase: (...call) => void phases.push(call) },
        logger,
        rule,
      }),
    };
  }

  test('tells metrics and log, each once', () => {
    const { reporter: subject, observed, lines } = reporter();
    subject.requestAnswered(facts);
    expect(observed).toEqual([['/v1/query', 200, 1.23456]]);
    expect(lines).toEqual([{ level: 30, time: expect.any(String), msg: 'request', method: 'POST', endpoint: '/v1/query', code: 200, ms: 1.23, requestId: 'r1', keyId: 4 }]);
  });

  test('tells the log only what is notable, unless it is to have all', () => {
    const { reporter: subject, observed, lines } = reporter({ logRequests: 'notable', logSlowMs: 50 });
    for (const durationMs of [0, 49.9, 50, 5_000]) subject.requestAnswered({ ...facts, requestId: `${durationMs} ms`, durationMs });
    subject.requestAnswered({ ...facts, requestId: 'refused', code: 404 });
    subject.requestAnswered({ ...facts, requestId: 'failed', code: 500 });
    subject.requestAnswered({ ...facts, requestId: 'administrative', isAdministrative: true });
    expect(lines.map((line) => line.requestId)).toEqual(['50 ms', '5000 ms', 'refused', 'failed', 'administrative']);
    expect(observed).toHaveLength(7);
  });

  test('tells the steps of a search to those who measure searches', () => {
    const { reporter: subject, phases } = reporter();
    subject.requestAnswered(facts);
    expect(phases).toEqual([]);
    subject.requestAnswered({ ...facts, steps: { parseMs: 0.25, serialiseMs: 0.5 } });
    expect(phases).toEqual([['parse', 0.25], ['serialise', 0.5]]);
  });

  test('the level follows the code; only a failure shows its error', () => {
    const { reporter: subject, lines } = reporter();
    for (const code of [200, 404, 429, 500]) subject.requestAnswered({ ...facts, code, error: new Error('why') });
    expect(lines.map((line) => line.level)).toEqual([30, 40, 40, 50]);
    expect(lines.map((line) => line.error?.message)).toEqual([undefined, undefined, undefined, 'why']);
  });
});
