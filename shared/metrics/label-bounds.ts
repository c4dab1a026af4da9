/**
 * Shards that have gauges of their own in one process's answer. Each costs Prometheus some twenty series; clusters beyond
 * this are looked at through sums and through `GET /v1/cluster`.
 */
export const LABELLED_SHARDS_MAX = 2_000;

/** Stands for the collections beyond the bound, in one sum; no collection can be called so. */
export const OTHER_COLLECTIONS = '(other)';
