/** Counts of a server since its start, at one moment, read from its metrics. */
export interface Reading {
  second: number;
  searches: number;
  writes: number;
  errors: number;
  /** Of searches: how many took at most so many seconds, by rising bound; the last bound is infinite. */
  buckets: { bound: number; count: number }[];
}

type Kind = 'searches' | 'writes' | 'errors';

const SEARCHES = /\/(?:search|bulk_search|hybrid_search|rerank|recommend\/\{id\}|similarity)$|^\/v1\/query$/;
const WRITES = /\/(?:upsert|bulk_upsert|delete\/\{id\}|delete_batch|delete_by_filter|upload)$/;
const SAMPLE = /^(vectordb_requests_total|vectordb_request_duration_seconds_bucket)\{([^}]*)\} (\S+)$/gm;
const SUCCESS = '200';

/** From metrics in Prometheus's text format. */
export function readingFrom(text: string, second: number): Reading {
  const reading: Reading = { second, searches: 0, writes: 0, errors: 0, buckets: [] };
  const buckets = new Map<number, number>();
  for (const [, name, labels = '', value] of text.matchAll(SAMPLE)) {
    const label = (of: string): string => new RegExp(`(?:^|,)${of}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const endpoint = label('endpoint');
    if (name === 'vectordb_requests_total') {
      if (SEARCHES.test(endpoint)) reading.searches += Number(value);
      if (WRITES.test(endpoint)) reading.writes += Number(value);
      if (label('status') !== SUCCESS) reading.errors += Number(value);
    } else if (SEARCHES.test(endpoint)) {
      const bound = label('le') === '+Inf' ? Number.POSITIVE_INFINITY : Number(label('le'));
      buckets.set(bound, (buckets.get(bound) ?? 0) + Number(value));
    }
  }
  reading.buckets = [...buckets].map(([bound, count]) => ({ bound, count })).sort((a, b) => a.bound - b.bound);
  return reading;
}

/** Of a kind, how many a second between two readings. */
export function rate(before: Reading, after: Reading, kind: Kind): number {
  return Math.max(0, after[kind] - before[kind]) / (after.second - before.second);
}

/** The time that a share of the searches between two readings stayed below, by bounds of the histogram; null without any. */
export function percentileMs(before: Reading, after: Reading, share: number): number | null {
  const countBefore = new Map(before.buckets.map(({ bound, count }) => [bound, count]));
  const grown = after.buckets.map(({ bound, count }) => ({ bound, count: count - (countBefore.get(bound) ?? 0) }));
  const all = grown.at(-1)?.count ?? 0;
  if (all <= 0) return null;
  const wanted = share * all;
  const at = grown.findIndex(({ count }) => count >= wanted);
  const { bound, count } = grown[at] ?? { bound: 0, count: 0 };
  const { bound: low, count: below } = grown[at - 1] ?? { bound: 0, count: 0 };
  if (!Number.isFinite(bound)) return low * 1000;
  return 1000 * (low + (bound - low) * (count === below ? 1 : (wanted - below) / (count - below)));
}
