import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { ShardSeed } from '../../../shared/contract/shard/shard-backup';
import type { ShardId, ShardSpec } from '../../../shared/contract/shard/shard-client';
import type { Language } from '../../../shared/base/text/language';
import { DEFAULT_METADATA_STORAGE, type MetadataStorage } from '../../../shared/contract/shard/metadata-storage';
import { DEFAULT_QUANTIZATION, type Quantization } from '../../../shared/contract/vector/quantization';
import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import { DEFAULT_VECTOR_STORAGE, type VectorStorage } from '../../../shared/contract/vector/vector-storage';
import type { Metric } from '../../../shared/contract/vector/metric';
import type { CollectionEmbedding } from '../../models/collection-embedding';
import type { StorageQuota } from '../service';
import type { StopWords } from '../synonyms/own-stop-words';
import type { SynonymRule } from '../synonyms/synonym-rules';

/** Every collection is one entry under this prefix, with the name that clients use. */
export const COLLECTIONS_PREFIX = '/q/collections/';
/** Collections whose shards are still to be dropped, by uid. Their names are free already. */
export const DROPS_PREFIX = '/q/collection-drops/';
/** Changed by every creation, so that of two that counted the same collections only one succeeds. */
export const CREATIONS_PATH = '/q/collection-creations';

/**
 * A collection as the cluster store holds it.
 *
 *   (none) ──create──▶ creating ──shards open──▶ ready ──delete──▶ (none), and a drop intent under DROPS_PREFIX
 *                          └──failed or found at a start──────────▶ (none), and a drop intent
 */
export interface CollectionRecord {
  /** Random, never reused. The shards know their collection by it; a reshard makes others, under a new one. */
  uid: string;
  /** The uid of its first shards, which stays the same: that of the collection itself. */
  identity: string;
  name: string;
  dim: number;
  metric: Metric;
  description: string | null;
  /** The language of its keyword text. It never changes, because stored text is analysed with it. */
  language: Language | null;
  /** What its keyword text is made of, for the same reason for good. Absent: of all strings. */
  keywordFields?: KeywordFields | undefined;
  /** Of its queries. Absent: none. */
  synonyms?: readonly SynonymRule[] | undefined;
  /** Of its queries, besides those of the language. Absent: none. */
  stopWords?: StopWords | undefined;
  /** false: its shards keep no positions of words. It never changes. */
  keywordPositions?: false | undefined;
  /** It never changes. */
  quantization: Quantization;
  /** It never changes. Absent: DEFAULT_METADATA_STORAGE; coordinators of earlier versions know no other. */
  metadata?: MetadataStorage | undefined;
  /** The same. Absent: DEFAULT_VECTOR_STORAGE. */
  vectors?: VectorStorage | undefined;
  shards: number;
  replicas: number;
  /**
   * Replicas of a shard that must have a write before it is acknowledged, and that must be present for the shard to
   * serve; 1 to `replicas`.
   */
  minInSync: number;
  /** ISO 8601, UTC, milliseconds. */
  createdAt: string;
  /** How long after its last write an item without a time of its own expires; null: never. */
  ttlSeconds?: number | null | undefined;
  /** The model of its `embedding`, or of its first text and from then on of all its texts; null before. */
  embeddingModel: string | null;
  /** How its texts become vectors. Absent: by the model that is configured when the first one comes. */
  embedding?: CollectionEmbedding | undefined;
  /** Since when its vectors are of this model, ISO 8601, UTC. Absent: since it was made, or had its first text. */
  vectorsSince?: string | undefined;
  /** Absent: it may hold as much as there is room for. Coordinators of earlier versions know no quotas. */
  quota?: StorageQuota | undefined;
  /** Clients see only `ready` collections; `creating` reserves the name while shards open. */
  state: 'creating' | 'ready';
  /** What its shards are made with; only of one that is `creating`, and then a restore drives it. */
  seed?: Omit<ShardSeed, 'shards'> | undefined;
  /** Of one that is `creating`: the token of the request, which may be repeated (idempotency/store-dedup.ts). */
  once?: string | undefined;
}

/** Shards that must be dropped. */
export interface DropIntent {
  uid: string;
  /** Of a collection that goes with them; absent: they are others of its shards. */
  identity?: string | undefined;
  name: string;
  shards: number;
  replicas: number;
}

/**
 * One for one or two replicas, so that a pair goes on when one of them fails. Two for three or more, so that a write is
 * on two stores before it is acknowledged.
 */
export function defaultMinInSync(replicas: number): number {
  return replicas >= 3 ? 2 : 1;
}

/** undefined for a quota that bounds nothing. */
export function quotaOrNone(quota: StorageQuota | null | undefined): StorageQuota | undefined {
  return quota === null || quota === undefined || (quota.items === null && quota.bytes === null) ? undefined : quota;
}

export function collectionPath(name: string): string {
  return COLLECTIONS_PREFIX + name;
}

/** The settings with which its shards are opened. */
export function shardSettings(record: CollectionRecord): Omit<ShardSpec, keyof ShardId> {
  const {
    dim,
    metric,
    language,
    keywordFields,
    keywordPositions,
    quantization,
    metadata = DEFAULT_METADATA_STORAGE,
    vectors = DEFAULT_VECTOR_STORAGE,
    seed,
    shards,
  } = record;
  return {
    dim,
    metric,
    ...(language !== null && { language }),
    ...(keywordFields !== undefined && { keywordFields }),
    ...(keywordPositions === false && { keywordPositions }),
    ...(quantization !== DEFAULT_QUANTIZATION && { quantization }),
    ...(metadata !== DEFAULT_METADATA_STORAGE && { metadata }),
    ...(vectors !== DEFAULT_VECTOR_STORAGE && { vectors }),
    ...(seed !== undefined && { seed: { ...seed, shards } }),
  };
}

export function dropPath(uid: string): string {
  return DROPS_PREFIX + uid;
}

export function collectionToValue(record: CollectionRecord): string {
  return JSON.stringify({
    uid: record.uid,
    // As versions wrote it that knew no other.
    identity: record.identity === record.uid ? undefined : record.identity,
    name: record.name,
    dim: record.dim,
    metric: record.metric,
    description: record.description,
    language: record.language,
    keyword_fields: record.keywordFields,
    keyword_positions: record.keywordPositions,
    synonyms: record.synonyms,
    stop_words: record.stopWords,
    quantization: record.quantization,
    metadata: record.metadata === DEFAULT_METADATA_STORAGE ? undefined : record.metadata,
    vectors: record.vectors === DEFAULT_VECTOR_STORAGE ? undefined : record.vectors,
    shards: record.shards,
    replicas: record.replicas,
    min_in_sync: record.minInSync,
    // Left out where there is none, as versions wrote it that knew none.
    ttl_seconds: record.ttlSeconds ?? undefined,
    created_at: record.createdAt,
    embedding_model: record.embeddingModel,
    embedding: record.embedding,
    vectors_since: record.vectorsSince,
    state: record.state,
    seed: record.seed,
    once: record.once,
    quota: record.quota,
  });
}

/** Errors: storage_failed when the text is not a collection. */
export function collectionFromEntry(entry: Pick<StoreEntry, 'key' | 'value'>): CollectionRecord {
  const json = objectOf(entry);
  if (typeof json.uid !== 'string' || !Number.isSafeInteger(json.dim) || !Number.isSafeInteger(json.shards))
    throw unreadable(entry);
  return {
    uid: json.uid,
    identity: (json.identity as string | undefined) ?? json.uid,
    name: json.name as string,
    dim: json.dim as number,
    metric: json.metric as Metric,
    description: json.description as string | null,
    // Collections made by versions without languages have none.
    language: (json.language ?? null) as Language | null,
    ...(json.keyword_fields !== undefined && { keywordFields: json.keyword_fields as KeywordFields }),
    ...(json.keyword_positions === false && { keywordPositions: false }),
    ...(json.synonyms !== undefined && { synonyms: json.synonyms as SynonymRule[] }),
    ...(json.stop_words !== undefined && { stopWords: json.stop_words as StopWords }),
    quantization: (json.quantization ?? DEFAULT_QUANTIZATION) as Quantization,
    ...(json.metadata !== undefined && { metadata: json.metadata as MetadataStorage }),
    ...(json.vectors !== undefined && { vectors: json.vectors as VectorStorage }),
    shards: json.shards as number,
    replicas: json.replicas as number,
    minInSync: (json.min_in_sync as number | undefined) ?? defaultMinInSync(json.replicas as number),
    ...(typeof json.ttl_seconds === 'number' && { ttlSeconds: json.ttl_seconds }),
    createdAt: json.created_at as string,
    embeddingModel: json.embedding_model as string | null,
    ...(json.embedding !== undefined && { embedding: json.embedding as CollectionEmbedding }),
    ...(typeof json.vectors_since === 'string' && { vectorsSince: json.vectors_since }),
    state: json.state as CollectionRecord['state'],
    ...(json.quota !== undefined && { quota: quotaOrNone(json.quota as StorageQuota) }),
    ...(json.seed !== undefined && { seed: json.seed as CollectionRecord['seed'] }),
    ...(typeof json.once === 'string' && { once: json.once }),
  };
}

export function dropToValue(intent: DropIntent): string {
  const { uid, identity, name, shards, replicas } = intent;
  return JSON.stringify({ uid, identity, name, shards, replicas });
}

/** Errors: storage_failed when the text is not a drop intent. */
export function dropFromEntry(entry: Pick<StoreEntry, 'key' | 'value'>): DropIntent {
  const json = objectOf(entry);
  if (typeof json.uid !== 'string' || !Number.isSafeInteger(json.shards)) throw unreadable(entry);
  // Intents written by versions without quotas do not have it.
  return {
    uid: json.uid,
    ...(typeof json.identity === 'string' && { identity: json.identity }),
    name: json.name as string,
    shards: json.shards as number,
    replicas: (json.replicas as number | undefined) ?? 1,
  };
}

function objectOf(entry: Pick<StoreEntry, 'key' | 'value'>): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(entry.value);
    if (typeof json === 'object' && json !== null) return json as Record<string, unknown>;
  } catch (cause) {
    throw unreadable(entry, cause);
  }
  throw unreadable(entry);
}

function unreadable(entry: Pick<StoreEntry, 'key'>, cause?: unknown): QuiverError {
  return new QuiverError('storage_failed', `the stored collection at ${entry.key} is unreadable`, { cause });
}
