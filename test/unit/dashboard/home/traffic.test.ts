import { trafficOf } from '../../../../dashboard/home/traffic';

test('searches and writes are told apart, and the search that is asked most tells the times', () => {
  const operation = (endpoint: string, perSecond: number, p50: number | null) => ({
    endpoint,
    per_second: perSecond,
    errors_per_second: 0,
    p50_ms: p50,
    p99_ms: p50 === null ? null : 10 * p50,
  });
  const operations = [
    operation('/v1/collections/{name}/search', 2, 3),
    operation('/v1/collections/{name}/hybrid_search', 5, 7),
    operation('/v1/query', 9, null),
    operation('/v1/collections/{name}/bulk_upsert', 1, 50),
    operation('/v1/documents/upload', 0.5, 900),
    operation('/v1/collections', 100, 1),
  ];
  const activity = { requests: { per_second: 117.5, errors_per_second: 0.25, total: 1 }, operations } as never;
  expect(trafficOf(activity, 17)).toEqual({ second: 17, searches: 16, writes: 1.5, errors: 0.25, p50Ms: 7, p99Ms: 70 });
});
