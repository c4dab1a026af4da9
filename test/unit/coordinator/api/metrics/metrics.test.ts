import { addClusterMetrics } from '../../../../../coordinator/api/metrics/cluster-metrics';
import { addCollectionMetrics } from '../../../../../coordinator/api/metrics/collection-metrics';
import { MeasuredEmbedding } from '../../../../../coordinator/api/metrics/measured-embedding';
import { MeasuredReranking } from '../../../../../coordinator/api/metrics/measured-reranking';
import { RequestMetrics } from '../../../../../coordinator/api/metrics/request-metrics';
import { RequestReporter, type RequestLogRule } from '../../../../../coordinator/api/metrics/request-reporter';
import type { ClusterView } from '../../../../../coordinator/cluster/operations/operations-service';
import { CachingReranker } from '../../../../../coordinator/models/rerank/caching-reranker';
import { createLogger } from '../../../../../shared/base/logs/pino-logger';
import { LABELLED_SHARDS_MAX, OTHER_COLLECTIONS } from '../../../../../shared/base/metrics/label-bounds';
import { metricsOfProcess, reading, samples, STATUS } from '../../../../support/processes/metrics-of-process';

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
    expect(
      lines.find((line) => line.startsWith('vectordb_request_duration_seconds_sum{endpoint="/v1/query"}')),
    ).toMatch(/ 0\.707$/);
  });
});

describe('the metrics of collections', () => {
  test('count each vector once, leave out what is not known, and forget what is gone', async () => {
    const { metrics } = metricsOfProcess();
    let readings = [
      reading('books', 0, STATUS),
      reading('books', 1, STATUS),
      reading('films', 0, STATUS),
      reading('films', 1, null),
    ];
    addCollectionMetrics(metrics, async () => readings);
    expect(await samples(metrics, 'vectordb_')).toEqual([
      'vectordb_collections_total 2',
      'vectordb_vectors_total{collection="books"} 14',
    ]);
    expect(await samples(metrics, 'quiver_collection_info')).toEqual([
      'quiver_collection_info{collection="books",collection_uid="uid-of-books"} 1',
      'quiver_collection_info{collection="films",collection_uid="uid-of-films"} 1',
    ]);
    expect(
      (await samples(metrics, 'quiver_shard_')).filter(
        (line) => line.includes('"films"') || line.includes('shard="0"'),
      ),
    ).toEqual([
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
    addCollectionMetrics(metrics, async () =>
      Array.from({ length: LABELLED_SHARDS_MAX + 3 }, (_, i) => reading(`c${i}`, 0, STATUS)),
    );
    expect(await samples(metrics, 'vectordb_collections_total')).toEqual([
      `vectordb_collections_total ${LABELLED_SHARDS_MAX + 3}`,
    ]);
    expect(await samples(metrics, 'quiver_collections_unlabelled')).toEqual(['quiver_collections_unlabelled 3']);
    expect(await samples(metrics, 'quiver_shard_up')).toHaveLength(LABELLED_SHARDS_MAX);
    const vectors = await samples(metrics, 'vectordb_vectors_total');
    expect(vectors).toContain(`vectordb_vectors_total{collection="${OTHER_COLLECTIONS}"} 21`);
    expect(vectors).toHaveLength(LABELLED_SHARDS_MAX + 1);
  });
});

describe('the metrics of the cluster', () => {
  const shard = {
    collection: 'books',
    shard: 0,
    epoch: 4,
    primary: 'node-0',
    inSync: ['node-0'],
    learners: [{ node: 'node-1', progress: 0.5 }],
    state: 'degraded',
    vectors: 7,
    lastOperation: 40,
    lagOperations: { 'node-0': 0, 'node-1': 20 },
    laterEpoch: null,
  } as const;
  const node = {
    id: 'node-0',
    address: 'a:1',
    zone: '',
    pid: 1,
    state: 'up',
    downSince: null,
    primaries: 1,
    replicas: 0,
    vectors: 7,
    diskBytes: 500,
  } as const;
  const view: ClusterView = {
    mode: 'cluster',
    controller: 'coordinator-0',
    coordinators: [{ id: 'coordinator-0', address: 'a:2', pid: 2, startedAt: '' }],
    nodes: [node, { ...node, id: 'node-1', state: 'down', primaries: 0, replicas: 1 }],
    shards: [
      { ...shard, inSync: [...shard.inSync], learners: [...shard.learners], lagOperations: { ...shard.lagOperations } },
    ],
    newShards: [],
    moves: [{ collection: 'books', shard: 0, from: 'node-2', to: 'node-1', phase: 'copying', progress: 0.5 }],
    reshards: [
      {
        collection: 'books',
        from: 1,
        to: 2,
        state: 'filling',
        fraction: 0,
        copied: 0,
        total: 7,
        behind: 0,
        startedAt: '',
        error: null,
        waitsFor: null,
      },
    ],
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
      'quiver_reshards{state="cancelling"} 0',
      'quiver_reshards{state="failed"} 0',
      'quiver_reshards{state="filling"} 1',
      'quiver_reshards{state="opening"} 0',
      'quiver_reshards{state="retiring"} 0',
      'quiver_reshards{state="sealing"} 0',
      'quiver_reshards{state="stuck"} 0',
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
    const status = () => ({ configured: 'm', active: 'm', fallbackReason: null, dim: 3, models: [] });
    const provider = new MeasuredEmbedding(
      {
        defaultModel: async () => model,
        model: async () => model,
        modelFor: async () => model,
        dimensionOf: async () => 2,
        status,
      },
      metrics,
    );
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

describe('the metrics of reranking', () => {
  test('count each call and where the scores of its texts come from', async () => {
    const { metrics } = metricsOfProcess();
    let fails = false;
    const reranker = new CachingReranker({
      score: async (_query, texts) => {
        if (fails) throw new Error('too warm');
        return texts.map((text) => (text === 'late' ? undefined : 0.5));
      },
    });
    const provider = new MeasuredReranking(
      { modelOf: async () => 'm', score: (_model, query, texts, options) => reranker.score(query, texts, options) },
      ['m', 'other'],
      metrics,
    );
    expect(await provider.modelOf(undefined)).toBe('m');
    expect(await provider.score('m', 'q', ['a', 'b', 'late'])).toEqual([0.5, 0.5, undefined]);
    expect(await provider.score('m', 'q', ['a', 'c', 'a'])).toEqual([0.5, 0.5, 0.5]);
    fails = true;
    await expect(provider.score('m', 'other', ['a'])).rejects.toThrow('too warm');
    const text = await metrics.text();
    for (const [source, count] of [
      ['model', 3],
      ['cache', 2],
      ['none', 1],
    ])
      expect(text).toContain(`quiver_rerank_texts_total{model="m",source="${source}"} ${count}`);
    expect(text).toContain('quiver_rerank_duration_seconds_count{model="m"} 3');
    expect(text).toContain('quiver_rerank_failures_total{model="m"} 1');
    expect(text).toContain('quiver_rerank_failures_total{model="other"} 0');
  });
});

describe('the reporter of requests', () => {
  const facts = {
    requestId: 'r1',
    method: 'POST',
    endpoint: '/v1/query',
    url: '/v1/query',
    code: 200,
    durationMs: 1.23456,
    keyId: 4,
    keyName: null,
    address: null,
    access: null,
    collection: null,
    target: null,
    isAdministrative: false,
    steps: null,
    error: undefined,
  };

  function reporter(rule: RequestLogRule = { logRequests: 'all', logSlowMs: 1000 }): {
    reporter: RequestReporter;
    observed: unknown[][];
    phases: unknown[][];
    lines: Record<string, any>[];
    slow: string[];
  } {
    const slow: string[] = [];
    const observed: unknown[][] = [];
    const phases: unknown[][] = [];
    const lines: Record<string, any>[] = [];
    const logger = createLogger({
      level: 'info',
      secrets: [],
      output: {
        write: (line) => lines.push(JSON.parse(line) as Record<string, any>),
        flush: () => Promise.resolve(),
        flushNow: () => undefined,
      },
    });
    return {
      observed,
      phases,
      lines,
      slow,
      reporter: new RequestReporter({
        metrics: {
          observeRequest: (...call) => void observed.push(call),
          observeRepetition: () => void observed.push(['again']),
        },
        searches: { phase: (...call) => void phases.push(call) },
        slow: { note: ({ requestId }) => void slow.push(requestId) },
        logger,
        rule: { ...rule, auditLog: '', auditReads: 'false' },
      }),
    };
  }

  test('tells metrics and log, each once', () => {
    const { reporter: subject, observed, lines } = reporter();
    subject.requestAnswered({ ...facts, isReplayed: true });
    expect(observed.pop()).toEqual(['again']);
    expect(observed).toEqual([['/v1/query', 200, 1.23456]]);
    expect(lines).toEqual([
      {
        level: 30,
        time: expect.any(String),
        msg: 'request',
        method: 'POST',
        endpoint: '/v1/query',
        code: 200,
        ms: 1.23,
        requestId: 'r1',
        keyId: 4,
      },
    ]);
  });

  test('tells the log only what is notable, unless it is to have all', () => {
    const { reporter: subject, observed, lines, slow } = reporter({ logRequests: 'notable', logSlowMs: 50 });
    for (const durationMs of [0, 49.9, 50, 5_000])
      subject.requestAnswered({ ...facts, requestId: `${durationMs} ms`, durationMs });
    subject.requestAnswered({ ...facts, requestId: 'refused', code: 404 });
    subject.requestAnswered({ ...facts, requestId: 'failed', code: 500 });
    subject.requestAnswered({ ...facts, requestId: 'administrative', isAdministrative: true });
    expect(lines.map((line) => line.requestId)).toEqual(['50 ms', '5000 ms', 'refused', 'failed', 'administrative']);
    expect(observed).toHaveLength(7);
    expect(slow).toEqual(lines.map((line) => line.requestId));
  });

  test('tells the steps of a search to those who measure searches', () => {
    const { reporter: subject, phases } = reporter();
    subject.requestAnswered(facts);
    expect(phases).toEqual([]);
    subject.requestAnswered({ ...facts, steps: { parseMs: 0.25, serialiseMs: 0.5 } });
    expect(phases).toEqual([
      ['parse', 0.25],
      ['serialise', 0.5],
    ]);
  });

  test('the level follows the code; only a failure shows its error', () => {
    const { reporter: subject, lines } = reporter();
    for (const code of [200, 404, 429, 500]) subject.requestAnswered({ ...facts, code, error: new Error('why') });
    expect(lines.map((line) => line.level)).toEqual([30, 40, 40, 50]);
    expect(lines.map((line) => line.error?.message)).toEqual([undefined, undefined, undefined, 'why']);
  });
});
