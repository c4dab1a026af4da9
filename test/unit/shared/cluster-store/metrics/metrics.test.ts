import perf_hooks from 'node:perf_hooks';
import { Histogram, Registry } from 'prom-client';
import { addCollectionMetrics } from '../../../../../coordinator/api/metrics/collection-metrics';
import { RequestMetrics } from '../../../../../coordinator/api/metrics/request-metrics';
import type { ShardReading } from '../../../../../coordinator/service/collections/shard-reading';
import { EtcdMetrics } from '../../../../../shared/cluster-store/metrics/etcd-metrics';
import { StepHistogram } from '../../../../../shared/base/metrics/step-histogram';
import { ManualClock } from '../../../../support/manual-clock';
import { metricsOfProcess, reading, samples, STATUS } from '../../../../support/processes/metrics-of-process';

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

  test('tell how late timers ran since the last scrape, from a timer that wakes it ten times a second and no other', async () => {
    const monitored = jest.spyOn(perf_hooks, 'monitorEventLoopDelay');
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    let nowMs = 0;
    const performanceNow = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    try {
      const { metrics } = metricsOfProcess();
      expect(monitored.mock.calls.map(([options]) => options?.resolution)).toEqual([3_600_000]);
      const sample = (lateMs: number): void => {
        nowMs += 100 + lateMs;
        jest.advanceTimersByTime(100);
      };
      const lags = async (): Promise<string> =>
        (await samples(metrics, 'nodejs_eventloop_lag_m')).filter((line) => /_(min|max)_/.test(line)).join();
      for (const lateMs of [0, 0, 40]) sample(lateMs);
      // A histogram keeps three digits.
      expect(await lags()).toMatch(
        /^nodejs_eventloop_lag_max_seconds 0\.0[34]\d*,nodejs_eventloop_lag_min_seconds 1e-9$/,
      );
      sample(0);
      expect(await lags()).toBe('nodejs_eventloop_lag_max_seconds 1e-9,nodejs_eventloop_lag_min_seconds 1e-9');
    } finally {
      performanceNow.mockRestore();
      jest.useRealTimers();
      monitored.mockRestore();
    }
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
    expect(await samples(metrics, 'vectordb_')).not.toContainEqual(
      expect.stringMatching(/^vectordb_(vectors|collections)_total/),
    );
    answer = () => new Promise(() => undefined);
    const text = await metrics.text();
    expect(text).toContain('quiver_measure_failures_total 2');
    expect(text).toContain('vectordb_requests_total{endpoint="/v1/query",status="200"} 1');
    expect(text).not.toMatch(/^(vectordb_(vectors|collections)_total|quiver_shard_up)[ {]/m);
    expect(errors).toEqual([
      expect.objectContaining({ message: 'no answer' }),
      expect.objectContaining({ message: 'not measured within 20 ms' }),
    ]);
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
