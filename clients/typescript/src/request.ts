/** What every method takes as its last argument. */
export interface CallOptions {
  /** Ends the call, also while it waits to be repeated; it rejects with the signal's reason. */
  signal?: AbortSignal;
  /** In the place of the client's. */
  timeoutMs?: number;
  /** In the place of the client's. */
  retries?: number;
  /** Sent besides the client's: `x-request-id`, say, for the service's log. */
  headers?: Record<string, string>;
}

/** A body that is not JSON. */
export interface RequestBody {
  contentType: string;
  /** Makes it anew for each attempt; calls `onPiece` for each piece that is taken, which puts the timeout off. */
  open: (onPiece: () => void) => NonNullable<RequestInit['body']>;
  /** Whether it can be made twice. */
  isRepeatable: boolean;
  /** What its source threw, if it did: that is why it was not sent. */
  failure?: () => { error: unknown } | null;
  /** Called when the answer is there. */
  onAnswered?: () => void;
}

/** One request, before it is sent. */
export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Of the template's segments, each encoded. */
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON; a text, and bytes, are JSON already. */
  json?: unknown;
  body?: RequestBody;
  /** Whether carrying it out twice is the same as once. Default: true for GET. */
  isRepeatable?: boolean;
}
