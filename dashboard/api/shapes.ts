import type { Operations } from '../../clients/typescript/src/generated/api-types';

/** What the API takes and answers, by the names of this page: the shapes are those of the OpenAPI document. */

/** The ids of its operations. */
export type Operation = keyof Operations;
/** As JSON has it: vectors are lists of numbers. */
type Sent<Value> = Value extends Float32Array
  ? number[]
  : Value extends object
    ? { [Name in keyof Value]: Sent<Value[Name]> }
    : Value;
export type AnswerOf<Id extends Operation> = Sent<Operations[Id]['answer']>;
export type BodyOf<Id extends Operation> = Operations[Id] extends { body: infer Body } ? Body : never;

export type Collection = AnswerOf<'get_collections_name'>;
export type Metric = Collection['distance_metric'];
export type CollectionStats = AnswerOf<'get_collections_name_stats'>;
export type StoredItem = AnswerOf<'post_collections_name_vectors_fetch'>['vectors'][number];
export type Metadata = StoredItem['metadata'];

/** Hits of any search that have the same value of a field: what only hybrid searches say may be absent. */
export type HitGroup = NonNullable<AnswerOf<'post_collections_name_hybrid_search'>['groups']>[number];
export type Hit = HitGroup['hits'][number];
export type Timing = NonNullable<AnswerOf<'post_collections_name_search'>['timing_ms']>;
/** The most frequent values of a field. */
export type Facet = NonNullable<AnswerOf<'post_collections_name_aggregate'>['facets']>[number];
/** Where a search loses an item. */
export type WhyReport = AnswerOf<'post_collections_name_why'>;
/** A set of judged queries, by its name. */
export type Judgements = AnswerOf<'get_collections_name_judgements'>['judgements'][number];
export type QueryHit = NonNullable<AnswerOf<'post_query'>['results']>[number];
export type Alias = AnswerOf<'get_aliases'>['aliases'][number];
export type Job = AnswerOf<'get_jobs_id'>;
export type StoredDocument = AnswerOf<'get_collections_name_documents_document_id'>;

export type Cluster = AnswerOf<'get_cluster'>;
export type ClusterNode = Cluster['nodes'][number];
export type ClusterShard = Cluster['shards'][number];
export type ClusterReshard = Cluster['reshards'][number];

export type ApiKey = AnswerOf<'get_admin_keys_id'>;
export type Role = ApiKey['role'];
export type KeyQuota = NonNullable<ApiKey['quota']>;
export type KeyScope = NonNullable<ApiKey['collections']>[number];
export type Usage = AnswerOf<'get_admin_keys_usage_summary'>['overall'];
export type KeyUsage = AnswerOf<'get_admin_keys_id_usage'>;

export type Health = AnswerOf<'get_health'>;
/** What the process that answers does at present. */
export type Activity = AnswerOf<'get_metrics_summary'>;
export type OperationRates = Activity['operations'][number];
export type SlowRequest = NonNullable<Activity['slow_requests']>[number];
