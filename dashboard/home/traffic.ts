import type { Activity, OperationRates } from '../api/shapes';

/** What a server does at one moment, as the charts show it. */
export interface Traffic {
  /** Since 1970. */
  second: number;
  searches: number;
  writes: number;
  errors: number;
  /** Of the kind of search that is asked most; null without any of late. */
  p50Ms: number | null;
  p99Ms: number | null;
}

const SEARCHES = /\/(?:search|bulk_search|hybrid_search|rerank|recommend\/\{id\}|similarity)$|\/v1\/query$/;
const WRITES = /\/(?:upsert|bulk_upsert|delete\/\{id\}|delete_batch|delete_by_filter|upload)$/;

export function trafficOf({ requests, operations }: Activity, second: number): Traffic {
  const searches = operations.filter(({ endpoint }) => SEARCHES.test(endpoint));
  const perSecond = (all: OperationRates[]): number => all.reduce((sum, one) => sum + one.per_second, 0);
  const busiest = searches.filter(({ p50_ms: p50 }) => p50 !== null).sort((a, b) => b.per_second - a.per_second)[0];
  return {
    second,
    searches: perSecond(searches),
    writes: perSecond(operations.filter(({ endpoint }) => WRITES.test(endpoint))),
    errors: requests.errors_per_second,
    p50Ms: busiest?.p50_ms ?? null,
    p99Ms: busiest?.p99_ms ?? null,
  };
}
