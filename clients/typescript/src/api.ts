import type { Operations, StoredVector } from './generated/api-types';
import type { Listing } from './listing';
import type { ExternalId, Given, Metadata } from './values';

/** The service's types by names that are easier to read than its operations'. */

type BodyOf<Id extends keyof Operations> = Operations[Id] extends { body: infer Body } ? Body : never;
type QueryOf<Id extends keyof Operations> = Operations[Id] extends { query: infer Query } ? Query : never;
type AnswerOf<Id extends keyof Operations> = Operations[Id]['answer'];
/** As the service sends it where `group_by` was given. */
export type Sent<Answer extends { results: unknown[] }> = Omit<Answer, 'results'> & Partial<Pick<Answer, 'results'>>;
/** An answer with hits: `results` is empty where `group_by` was given. */
type Listed<Answer extends { results?: unknown[] }> = Omit<Answer, 'results'> & {
  results: NonNullable<Answer['results']>;
};

export type NewCollection = BodyOf<'post_collections'>;
export type NewQuota = BodyOf<'post_collections_name_quota'>;
export type CollectionDeleted = AnswerOf<'delete_collections_name'>;
/** Done in their order: all, or none. */
export type AliasAction = BodyOf<'post_aliases'>['actions'][number];
export type UpsertRequest = BodyOf<'post_collections_name_upsert'>;
export type UpsertAnswer = AnswerOf<'post_collections_name_upsert'>;
/** One item of a bulk write. */
export type Item = BodyOf<'post_collections_name_bulk_upsert'>['items'][number];
export type BulkUpsertRequest = BodyOf<'post_collections_name_bulk_upsert'>;
export type BulkUpsertAnswer = AnswerOf<'post_collections_name_bulk_upsert'>;
export type VectorDeleted = AnswerOf<'delete_collections_name_delete_id'>;
export type BatchDeleted = AnswerOf<'post_collections_name_delete_batch'>;
export type FilteredDeleted = AnswerOf<'post_collections_name_delete_by_filter'>;
/** A change of parts of an item. */
export type ItemChange = BodyOf<'patch_collections_name_vectors_id'>;
export type ItemChanged = AnswerOf<'patch_collections_name_vectors_id'>;
/** A change of the metadata of what matches. */
export type FilteredChange = BodyOf<'post_collections_name_update_by_filter'>;
export type FilteredChanged = AnswerOf<'post_collections_name_update_by_filter'>;
export type FetchAnswer = AnswerOf<'post_collections_name_vectors_fetch'>;
export type ScrollRequest = BodyOf<'post_collections_name_scroll'>;
export type ScrollPage = AnswerOf<'post_collections_name_scroll'>;
export type SearchRequest = BodyOf<'post_collections_name_search'>;
/** Of a search: whether its answer also tells where the time went. */
export type Profiled = { profile?: boolean };
export type SearchAnswer = Listed<AnswerOf<'post_collections_name_search'>>;
export type BulkSearchQuery = BodyOf<'post_collections_name_bulk_search'>['queries'][number];
export type BulkSearchAnswer = AnswerOf<'post_collections_name_bulk_search'>;
/** `profiles`: of each request that it took, in their order. */
export type ProfiledBulkSearch = {
  results: BulkSearchAnswer['results'];
  profiles: NonNullable<BulkSearchAnswer['profile']>[];
};
export type HybridSearchRequest = BodyOf<'post_collections_name_hybrid_search'>;
export type HybridSearchAnswer = Listed<AnswerOf<'post_collections_name_hybrid_search'>>;
export type RerankRequest = BodyOf<'post_collections_name_rerank'>;
export type RerankAnswer = Listed<AnswerOf<'post_collections_name_rerank'>>;
export type PairsRequest = BodyOf<'post_rerank'>;
export type PairsAnswer = AnswerOf<'post_rerank'>;
export type RecommendRequest = BodyOf<'post_collections_name_recommend_id'>;
export type RecommendAnswer = Listed<AnswerOf<'post_collections_name_recommend_id'>>;
export type AggregateRequest = BodyOf<'post_collections_name_aggregate'>;
export type AggregateAnswer = AnswerOf<'post_collections_name_aggregate'>;
/** Judged queries, with grades by external id. */
export type JudgedQueries = BodyOf<'put_collections_name_judgements_id'>;
export type JudgedSet = AnswerOf<'get_collections_name_judgements_id'>;
export type EvaluationRequest = BodyOf<'post_collections_name_evaluate'>;
export type ReembedRequest = BodyOf<'post_collections_name_reembed'>;
export type AnalysisRequest = BodyOf<'post_collections_name_analyse'>;
export type AnalysisAnswer = AnswerOf<'post_collections_name_analyse'>;
export type CountRequest = BodyOf<'post_collections_name_count'>;
export type CountAnswer = AnswerOf<'post_collections_name_count'>;
export type SimilarityAnswer = AnswerOf<'post_collections_name_similarity'>;
export type QueryRequest = BodyOf<'post_query'>;
export type QueryAnswer = Listed<AnswerOf<'post_query'>>;
/** `stream`: see `answerStream`. */
export type AnswerRequest = Omit<BodyOf<'post_answer'>, 'stream'>;
export type AnswerAnswer = AnswerOf<'post_answer'>;
export type RecallCheckRequest = BodyOf<'post_collections_name_recall_check'>;
export type DescribeRequest = BodyOf<'post_collections_name_describe'>;
export type Description = AnswerOf<'post_collections_name_describe'>;
export type SampleRequest = BodyOf<'post_collections_name_sample'>;
export type UploadAnswer = AnswerOf<'post_documents_upload'>;
/** A document whose text is in the request. */
export type DocumentText = BodyOf<'post_documents'>;
export type DocumentAdded = AnswerOf<'post_documents'>;
export type DocumentsQuery = QueryOf<'get_collections_name_documents'>;
export type DocumentsPage = AnswerOf<'get_collections_name_documents'>;
export type DocumentDeleted = AnswerOf<'delete_collections_name_documents_document_id'>;
export type NewKey = BodyOf<'post_admin_keys'>;
export type KeyChange = BodyOf<'patch_admin_keys_id'>;
export type KeyDeleted = AnswerOf<'delete_admin_keys_id'>;
export type KeyRotation = BodyOf<'post_admin_keys_id_rotate'>;
export type NewBackup = BodyOf<'post_admin_backups'>;
/** Where backups are; left out, as the service is set. */
export type BackupTarget = QueryOf<'get_admin_backups'>;
export type NewRestore = BodyOf<'post_admin_restore'>;
export type JobsQuery = QueryOf<'get_jobs'>;
export type JobsPage = AnswerOf<'get_jobs'>;
export type SignedIn = AnswerOf<'post_sign_in'>;
export type Health = AnswerOf<'get_health'>;
export type ClusterState = AnswerOf<'get_cluster'>;
export type Adopted = AnswerOf<'post_cluster_shards_collection_shard_adopt'>;
export type ServiceInfo = AnswerOf<'get'>;
export type ExportedVector = AnswerOf<'get_collections_collection_name_export'>['vectors'][number];
export type ExportQuery = QueryOf<'get_collections_collection_name_export'>;

/** The same with metadata of a type. */
export type Typed<Row, Meta extends object> = Row extends { metadata: Metadata }
  ? Omit<Row, 'metadata'> & { metadata: Meta }
  : Row;
/** An answer whose hits have metadata of a type; it is gone through, and has a length, as its `results`. */
export type TypedAnswer<Answer extends { results: unknown[] }, Meta extends object> = Omit<
  Answer,
  'results' | 'groups'
> & {
  /** None where `group_by` was given. */
  results: Typed<HitOf<Answer>, Meta>[];
  /** Present if `group_by` was given. */
  groups?: { key: string | number | boolean | null; score: number; hits: Typed<HitOf<Answer>, Meta>[] }[];
} & Listing<Typed<HitOf<Answer>, Meta>>;
type HitOf<Answer extends { results: unknown[] }> = Answer['results'][number];
/** A page whose items have metadata of a type; it is gone through, and has a length, as its `vectors`. */
export type TypedPage<Meta extends object> = Omit<ScrollPage, 'vectors'> & {
  vectors: Typed<StoredVector, Meta>[];
} & Listing<Typed<StoredVector, Meta>>;
/** What an item may be given as: ids as whole numbers, moments as Date. */
export type Giving<Request extends { metadata?: unknown; expires_at?: unknown }, Meta extends object> = Omit<
  Request,
  'metadata' | 'expires_at'
> & {
  metadata?: Given<Meta>;
  expires_at?: Request['expires_at'] | Date;
};
/** An item to write, with metadata of a type. */
export type ItemOf<Meta extends object, Id extends ExternalId = ExternalId> = Omit<
  Giving<Item, Meta>,
  'external_id'
> & { external_id: Id };
