import { RecentActivity } from '../../../../../coordinator/api/metrics/recent-activity';
import { SlowRequests } from '../../../../../coordinator/api/metrics/slow-requests';
import { quantileOf, StepHistogram } from '../../../../../shared/base/metrics/step-histogram';

const facts = {
  requestId: 'r',
  method: 'POST',
  endpoint: '/v1/collections/{name}/search',
  url: '/v1/collections/books/search?x=1',
  code: 200,
  durationMs: 50,
  keyId: 4,
  keyName: null,
  address: null,
  access: null,
  collection: null,
  target: null,
  isAdministrative: false,
  steps: null,
  error: null,
};

function slowRequests(slowMs = 50): SlowRequests {
  return new SlowRequests({ slowMs, clock: { wallMs: () => Date.parse('2026-01-02T03:04:05.006Z') } });
}

describe('the activity of a process', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  function watched() {
    const histogram = new StepHistogram<string>({
      name: 'd',
      help: '',
      label: 'endpoint',
      steps: [],
      isOpen: true,
      buckets: [0.01, 0.1, 1],
    });
    const failed = new Map<string, number>();
    const clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() };
    const none = { bounds: [1], counts: () => new Map(), failures: () => new Map<string, number>() };
    const requests = { bounds: histogram.bounds, counts: () => histogram.read(), failures: () => failed };
    const activity = new RecentActivity({
      id: 'c',
      clock,
      requests,
      embedding: none,
      load: { requests: 2, bodyBytes: 3, refused: 4 },
      slow: slowRequests(),
    });
    const call = (endpoint: string, times: number, seconds = 0.05): void => {
      for (let i = 0; i < times; i++) histogram.observe(endpoint, seconds);
    };
    return { activity, call, failed };
  }

  test('has rates over the last seconds, and totals since the start', async () => {
    const { activity, call, failed } = watched();
    call('a', 100);
    jest.advanceTimersByTime(60_000);
    call('a', 10);
    call('b', 40);
    failed.set('b', 5);
    jest.advanceTimersByTime(7_500);
    const view = await activity.activity();
    expect(view.rateSeconds).toBe(7.5);
    expect(view.requests).toMatchObject({ perSecond: 6.667, errorsPerSecond: 0.667, total: 150, errors: 5 });
    expect(view.operations.map(({ endpoint, perSecond, total }) => [endpoint, perSecond, total])).toEqual([
      ['b', 5.333, 40],
      ['a', 1.333, 110],
    ]);
    expect(view).toMatchObject({
      embedding: [],
      inFlight: 2,
      bodyBytes: 3,
      shed: 4,
      slow: [],
      slowMs: 50,
      process: { id: 'c', pid: process.pid },
    });
    activity.close();
  });

  test('has quantiles of the last minute, and none where nothing was called', async () => {
    const { activity, call } = watched();
    call('a', 1_000, 0.9);
    jest.advanceTimersByTime(65_000);
    expect((await activity.activity()).operations).toEqual([
      { endpoint: 'a', perSecond: 0, errorsPerSecond: 0, p50Ms: null, p99Ms: null, total: 1_000, errors: 0 },
    ]);
    call('a', 98, 0.005);
    call('a', 2, 0.5);
    const [{ p50Ms, p99Ms }] = (await activity.activity()).operations;
    expect(p50Ms).toBeCloseTo(5.102, 2);
    expect(p99Ms).toBeCloseTo(550, 0);
    activity.close();
  });

  test('answers at once after a start', async () => {
    const { activity, call } = watched();
    call('a', 3);
    const { operations } = await activity.activity();
    expect(operations).toMatchObject([{ endpoint: 'a', total: 3 }]);
    expect(Number.isFinite(operations[0].perSecond)).toBe(true);
    activity.close();
  });
});

describe('quantiles of counts', () => {
  test('lie evenly within their bucket, as Prometheus has them', () => {
    expect(quantileOf(Float64Array.of(10, 0, 0), [2, 4], 0.5)).toBe(1);
    expect(quantileOf(Float64Array.of(5, 5, 0), [2, 4], 0.75)).toBe(3);
    expect(quantileOf(Float64Array.of(0, 4, 0), [2, 4], 0.25)).toBe(2.5);
    expect(quantileOf(Float64Array.of(0, 0, 9), [2, 4], 0.99)).toBe(4);
    expect(quantileOf(new Float64Array(3), [2, 4], 0.5)).toBeNull();
  });
});

describe('slow requests', () => {
  test('are kept with what they were and nothing of what was in them', () => {
    const slow = slowRequests();
    slow.note(facts);
    slow.note({ ...facts, durationMs: 49 });
    expect(slow.latest()).toEqual([
      {
        at: '2026-01-02T03:04:05.006Z',
        method: 'POST',
        endpoint: facts.endpoint,
        collection: 'books',
        code: 200,
        ms: 50,
        keyId: 4,
        requestId: 'r',
      },
    ]);
  });

  test('name a collection only where their path has one', () => {
    const slow = slowRequests();
    slow.note({ ...facts, endpoint: '/v1/query', url: '/v1/query' });
    slow.note({ ...facts, endpoint: 'unmatched', url: '/v1/collections/secret/nothing' });
    slow.note({
      ...facts,
      endpoint: '/v1/collections/{collection_name}/export',
      url: '/v1/collections/films/export?limit=3',
    });
    expect(slow.latest().map(({ collection }) => collection)).toEqual(['films', null, null]);
  });

  test('are the last hundred, the latest first', () => {
    const slow = slowRequests();
    for (let i = 0; i < 130; i++) slow.note({ ...facts, requestId: String(i) });
    const ids = slow.latest().map(({ requestId }) => requestId);
    expect(ids).toHaveLength(100);
    expect([ids[0], ids[99]]).toEqual(['129', '30']);
  });
});
