/**
 * What one process of the API does at present, for people who look at it; Prometheus has all of it, and its history.
 */
export interface ActivityService {
  activity(): Promise<ActivityView>;
}

export interface ActivityView {
  process: {
    id: string;
    pid: number;
    uptimeSeconds: number;
    memoryBytes: number;
    heapBytes: number;
    processors: number;
  };
  /** Seconds that rates are over, and seconds that quantiles are over. */
  rateSeconds: number;
  quantileSeconds: number;
  requests: RateView;
  operations: (RateView & { endpoint: string })[];
  /** Texts are embedded by calls of these kinds. */
  embedding: (RateView & { kind: string })[];
  inFlight: number;
  bodyBytes: number;
  /** Refused because the process was busy, since it started. */
  shed: number;
  slow: SlowRequest[];
  /** From how many milliseconds on a request is slow. */
  slowMs: number;
}

export interface RateView {
  perSecond: number;
  errorsPerSecond: number;
  /** null: there was none. */
  p50Ms: number | null;
  p99Ms: number | null;
  /** Since the process started. */
  total: number;
  errors: number;
}

/** A request that took long: what it was, and nothing of what was in it. */
export interface SlowRequest {
  /** ISO 8601, UTC: when it was answered. */
  at: string;
  method: string;
  endpoint: string;
  /** null: its path names none. */
  collection: string | null;
  code: number;
  ms: number;
  keyId: number | null;
  requestId: string;
}
