import type { Filter } from '../filter/filter';
import type { Language } from '../../base/text/language';
import type { Quantization } from '../vector/quantization';
import type { VectorStorage } from '../vector/vector-storage';
import type { KeywordFields } from './keyword-fields';
import type { MetadataStorage } from './metadata-storage';
import type { Metric } from '../vector/metric';
import type { CallProfile, ProfiledCall } from './call-profile';
import type { Expiring, Expiry } from '../writes/expiry';
import type { ShardStage } from './shard-stage';
import type { AnswerOf, ReadKind, RequestOf } from './shard-read';
import type { ShardSeed } from './shard-backup';
import type { WriteOutcome } from '../writes/write-outcome';

export type { WriteOutcome } from '../writes/write-outcome';

/**
 * One shard of a collection, as the coordinator sees it. The coordinator asks every shard and merges the answers.
 * Implementations: a shard in this process (LocalShardClient), and one on another node (RemoteShardClient).
 *
 * All calls may overlap. Errors are QuiverErrors; `unavailable` and `commit_unknown` are the only retryable ones.
 * Vectors are float32, row-major, exactly `spec.dim` long: callers have checked them. Metadata are JSON text.
 */
export interface ShardClient {
  /**
   * Makes the shard if there never was one, and has it serve. Does nothing if it serves already. Only for a collection
   * that is being created, and for new shards of a reshard or restore. Errors: as of open.
   */
  make(spec: ShardSpec): Promise<void>;
  /**
   * Has a shard serve that was made. Does nothing if it serves already. Errors: storage_damaged where its data are
   * gone: nothing is made in their place.
   */
  open(spec: ShardSpec): Promise<void>;
  /** Removes the shard with all its data for good. Does nothing if it is gone. Running calls fail with `not_found`. */
  drop(id: ShardId): Promise<void>;

  /**
   * Applies the operations in order, all in one atomic, durable step: when it resolves, they survive a crash and every
   * later read sees them. Answers one outcome per operation, in order. With a condition (see {@link Conditional}),
   * nothing of a write is done if one of its operations conflicts. Errors: unavailable for a condition while a node of
   * an earlier version, which knows none, holds a replica.
   */
  write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult>;

  /** Answers one of the reads of shard-read.ts. It sees every write that was answered before the read began. */
  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>>;
}

/**
 * In the place of an epoch: a read is meant for the node that it is sent to, though another one leads the shard. That
 * node answers as an in-sync follower or, at once, says misrouted.
 */
export const ANY_REPLICA = 0;

export interface CallOptions {
  /** Monotonic deadline in milliseconds (Clock.monotonicMs). After it the call fails with `unavailable`. */
  deadlineMs: number;
  /** What is noted of the request that it is for; absent from nearly all. */
  profile?: CallProfile | undefined;
  /** What is noted of this call of a shard. */
  profiled?: ProfiledCall | undefined;
}

export interface ShardId {
  /** The collection's uid. It is never reused: a collection made again under the same name has another one. */
  collectionUid: string;
  /** 0 ≤ shard < number of shards of the collection. */
  shard: number;
}

export interface ShardSpec extends ShardId {
  dim: number;
  metric: Metric;
  /** The language of its keyword text. Absent: none. */
  language?: Language;
  /** What its keyword text is made of. Absent: of all strings. */
  keywordFields?: KeywordFields;
  /** false: no positions of words are kept for phrases. No stored record depends on it. */
  keywordPositions?: false;
  /**
   * How its vectors are held in memory. Absent: DEFAULT_QUANTIZATION. Indexes alone depend on it, no stored record
   * does.
   */
  quantization?: Quantization;
  /** Where ids and metadata are. Absent: DEFAULT_METADATA_STORAGE. No stored record depends on it. */
  metadata?: MetadataStorage;
  /** Where the index of its vectors is. Absent: DEFAULT_VECTOR_STORAGE. Indexes alone depend on it. */
  vectors?: VectorStorage;
  /** What it begins with when it is made; absent: nothing. */
  seed?: ShardSeed;
}

export type WriteOperation = ItemOperation | ImportOperation | StageOperation | DedupOperation | ExpireOperation;
/** What clients ask for. */
export type ItemOperation = UpsertOperation | PatchOperation | DeleteOperation;

/** `expected`: the item must not exist. */
export const NO_VERSION = 0;
/** `expected`: the item must exist, in any version. */
export const ANY_VERSION = -1;

/**
 * An operation that is done only if the item is as its caller believes, as of the moment at which the shard applies the
 * write.
 */
export interface Conditional {
  /**
   * The version that the item must have, NO_VERSION, or ANY_VERSION. Otherwise the outcome is `conflict`. Left out:
   * whatever is there.
   */
  expected?: number | undefined;
  /** A conflict of this operation keeps none of the others of the write from being done. */
  alone?: boolean | undefined;
}

export interface UpsertOperation extends Conditional, Expiring {
  type: 'upsert';
  externalId: string;
  vector: Float32Array;
  /**
   * Insertion stamp (see coordinator/service/routing/stamp-clock.ts). Used only for a new id; a stored item keeps its
   * stamp.
   */
  stamp: number;
  /** JSON object text; undefined keeps what is stored ("{}" for a new item). */
  metadata: string | undefined;
  /** Keyword and answer text; undefined keeps what is stored (none for a new item), "" clears it. */
  text: string | undefined;
}

/** Changes parts of an item that is there; otherwise the outcome is `absent`. */
export interface PatchOperation extends Conditional, Expiring {
  type: 'patch';
  externalId: string;
  /** undefined keeps what is stored. */
  vector: Float32Array | undefined;
  metadata: MetadataPatch | undefined;
  /** As in an upsert. */
  text: string | undefined;
  /** Changes the item only if its metadata match when the operation is applied. Otherwise the outcome is `absent`. */
  filter?: Filter | undefined;
}

/** `json`: a JSON Merge Patch (RFC 7396) to the metadata, or with `replaces` the metadata. */
export interface MetadataPatch {
  json: string;
  replaces: boolean;
  /**
   * What the metadata may have afterwards: bytes as JSON, keys and array elements. With more, the outcome is `excess`.
   */
  bytesMax: number;
  fieldsMax: number;
}

export interface DeleteOperation extends Conditional {
  type: 'delete';
  externalId: string;
  /** Deletes the item only if its metadata match when the operation is applied. Otherwise the outcome is `absent`. */
  filter?: Filter | undefined;
}

/**
 * Brings a shard to another stage. `term`: that of whoever drives the reshard. What comes with an earlier term than the
 * shard has seen is `outdated`, and changes nothing.
 */
export interface StageOperation {
  type: 'stage';
  term: number;
  /** Names the reshard. */
  reshard: string;
  stage: ShardStage;
  /** Changes up to this one have been dealt with; the shard need not remember them. */
  forget: number;
  /**
   * Versions that the shard gives from now on are higher: those up to this one were given by the shards that it
   * replaces.
   */
  versionFloor?: number | undefined;
}

/**
 * Puts an item as it is in another shard, in the place of what is here; or takes it away (`item` null). Only while
 * `filling`.
 */
export interface ImportOperation {
  type: 'import';
  term: number;
  externalId: string;
  item: {
    vector: Float32Array;
    stamp: number;
    metadata: string;
    text: string | null;
    version?: number | undefined;
    expiry?: Expiry | undefined;
    /** Whether the version tells when it changed. */
    dated?: boolean | undefined;
  } | null;
}

/** Removes an item that has expired by the moment of the write (`deleted`); any other stays (`absent`). */
export interface ExpireOperation {
  type: 'expire';
  externalId: string;
}

/**
 * The first operation of a write that is done once, however often it is asked for: the shard keeps what became of the
 * others under the token, in the same step, and answers that again (docs/architecture/requests.md, "Idempotency-Key").
 * Its own outcome: `inserted`, the token is new; `updated`, it was there: operations that were done before have the
 * outcomes of then, others are done now; `withheld`, it was there with another digest; `absent`, it was there with a
 * verdict; `outdated`, not at this step. In the last three cases nothing is done.
 */
export interface DedupOperation {
  type: 'dedup';
  /** 128 bits each, hexadecimal. */
  token: string;
  digest: string;
  /** The coordinator's wall time, by which the shard judges what has expired. */
  nowMs: number;
  keptMs: number;
  /** What the marks of the shard may take together; the oldest are given up first. */
  bytesMax: number;
  /** Of a write in several steps: which one this is. PLAIN_STEP: there is one. */
  step: number;
  /**
   * With a step: how far the steps are (for coordinators). Otherwise a verdict, '' for none: nothing is to be done
   * under the token any more.
   */
  note: string;
  /**
   * NO_TERM. Otherwise the mark is one of another shard, put here by a reshard of that term: `note` is the record as
   * base64, and it stands for all ids whose hash mod `keptMs` is `step`.
   */
  term: number;
}

export const PLAIN_STEP = -1;
export const NO_TERM = 0;
/** `firstVersion` of a result whose `present` has the version of each operation, 0 for none: some were done earlier. */
export const EACH_VERSION = -1;

/**
 * What became of a write. Versions rise with each change of an item, and no item of an id ever has one that an earlier
 * item of this id had (docs/architecture/shard.md, "Versions").
 */
export interface WriteResult {
  /** One per operation, in order. */
  outcomes: WriteOutcome[];
  /**
   * The item that operation i put has the version `firstVersion + i`. 0: the shard counts no versions yet. Or
   * EACH_VERSION.
   */
  firstVersion: number;
  /** Of each `conflict`, in order: the version of the item that is there; NO_VERSION if there is none. */
  present: number[];
}
