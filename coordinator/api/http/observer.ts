import type { Endpoint } from '../endpoints/endpoint';
import type { RequestProfile } from '../answers/profile';

/** What the HTTP layer reports about each answered request: metrics, log and usage depend on it. */
export interface RequestObserver {
  requestAnswered(facts: AnsweredRequest): void;
}

export interface AnsweredRequest {
  requestId: string;
  method: string;
  /** The route's template, for example `/v1/collections/{name}/search`, or `unmatched`. */
  endpoint: string;
  /** As it came, for what has a path and not a template: the collection that it names. */
  url: string;
  /** 200 on success, otherwise the envelope's error code. */
  code: number;
  durationMs: number;
  keyId: number | null;
  keyName: string | null;
  /** Of the caller's token; absent: it has a key, or none. */
  subject?: string | undefined;
  /** Of the client; null where no audit log asks for it. */
  address: string | null;
  /** The least role that the endpoint asks for; null for an unknown one. */
  access: Endpoint['access'] | null;
  /** The collection that it is about, and the key, node or shard; null: none. */
  collection: string | null;
  target: string | null;
  /** Whether it is about keys, the cluster, or collections as a whole. */
  isAdministrative: boolean;
  /** For a search that succeeded: the time to read and check its body, and to write its answer. */
  steps: { parseMs: number; serialiseMs: number } | null;
  /** true: the answer is that of an earlier request with the same Idempotency-Key. */
  isReplayed?: true;
  /** The error behind a code of 500, for the log. */
  error: unknown;
  /** The trace that it belongs to; `spanId` null: it is not recorded here. */
  trace?: { traceId: string; spanId: string | null };
  /** Of a slow one. */
  slow?: SlowBreakdown;
}

/** Where the time of a slow request went. */
export interface SlowBreakdown {
  /** Milliseconds by step; null for one that was refused before its work began. */
  steps: Record<string, number> | null;
  /** Of a search that was looked at, with its slowest calls of shards. */
  profile: RequestProfile | null;
}
