/**
 * How many shards have gauges of their own in one scrape of a process. Each costs Prometheus about twenty series. For
 * larger clusters use the sums and `GET /v1/cluster`.
 */
export const LABELLED_SHARDS_MAX = 2_000;

/** The label of the collections beyond the bound, as one sum. No collection can have this name. */
export const OTHER_COLLECTIONS = '(other)';
