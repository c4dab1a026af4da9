import type { Filter } from '../filter/filter';
import type { Language } from '../text/language';
import type { Metric } from '../vector/metric';
import type { AnswerOf, ReadKind, RequestOf } from './shard-read';

/**
 * One shard of a collection as the coordinator sees it. The coordinator asks every shard and merges; whether the
 * shard lives in this process (LocalShardClient) or behind gRPC is the implementation's business.
 *
 * All calls may overlap. Errors are QuiverErrors; `unavailable` and `commit_unknown` are the only retryable ones.
 * Vectors are float32, row-major, exactly `spec.dim` long: callers have checked them. Metadata travels as JSON text.
 */
export interface ShardClient {
  /** Makes the shard exist and serve; does nothing when it does. */
  open(spec: ShardSpec): Promise<void>;
  /** Removes the shard with all its data, for good; does nothing when it is gone. Running calls fail `not_found`. */
  drop(id: ShardId): Promise<void>;

  /**
   * Applies the operations in order, all of them in one atomic, durable step: when it resolves they survive a crash
   * and every later read sees them. Answers one outcome per operation, in order.
   */
  write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteOutcome[]>;

  /** Answers one of the reads of shard-read.ts, with every write in it that was answered before the read began. */
  read<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: CallOptions): Promise<AnswerOf<Kind>>;
}

export interface CallOptions {
  /** Monotonic deadline in milliseconds (Clock.monotonicMs); past it the call fails `unavailable`. */
  deadlineMs: number;
}

export interface ShardId {
  /** Collection uid: never reused, so a collection made again under the same name is another one. */
  collectionUid: string;
  /** 0 ≤ shard < the collection's number of shards. */
  shard: number;
}

export interface ShardSpec extends ShardId {
  dim: number;
  metric: Metric;
  /** Of its keyword text; absent: none. */
  language?: Language;
}

export type WriteOperation = UpsertOperation | DeleteOperation;

export interface UpsertOperation {
  type: 'upsert';
  externalId: string;
  vector: Float32Array;
  /** Insertion stamp (see coordinator/routing/stamp-clock.ts): used if the id is new, else the stored one stays. */
  stamp: number;
  /** JSON object text; undefined keeps what is stored ("{}" for a new item). */
  metadata: string | undefined;
  /** Keyword and answer text; undefined keeps what is stored (none for a new item), "" clears it. */
  text: string | undefined;
}

export interface DeleteOperation {
  type: 'delete';
  externalId: string;
  /** Deletes the item only if its metadata match when its turn comes; one that does not is `absent`. */
  filter?: Filter | undefined;
}

export type WriteOutcome = 'inserted' | 'updated' | 'deleted' | 'absent';
