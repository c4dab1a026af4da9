/** What the HTTP layer tells the outside about each answered request: metrics, log and usage hang on it. */
export interface RequestObserver {
  requestAnswered(facts: AnsweredRequest): void;
}

export interface AnsweredRequest {
  requestId: string;
  method: string;
  /** The route's template, such as `/v1/collections/{name}/search`, or `unmatched`. */
  endpoint: string;
  /** 200 on success, else the envelope's error code. */
  code: number;
  durationMs: number;
  keyId: number | null;
  /** Whether it is about keys, the cluster, or collections as a whole. */
  isAdministrative: boolean;
  /** Of a search that was answered: time to read and check its body, and to write its answer. */
  steps: { parseMs: number; serialiseMs: number } | null;
  /** The error behind a code of 500, for the log. */
  error: unknown;
}
