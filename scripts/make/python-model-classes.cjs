// What the models of the Python client are called, and what they do besides having fields. A class is at a pointer into
// the OpenAPI document: a schema by its name, or the answer of an operation, and from there by fields. Objects of the
// same shape are of one class, wherever they are.

/**
 * @typedef {object} ModelClass
 * @property {string | string[]} of where it is in the document; of several, it has the fields of all
 * @property {string} doc
 * @property {string} [base] a class above it, whose fields it has
 * @property {string} [mixin] what it does, from behaviour.py
 * @property {string} [rows] the field that is listed, where it is a table
 * @property {Record<string, string>} [names] attributes of fields that can't have the document's name
 * @property {Record<string, string>} [types] types other than the document's
 * @property {string[]} [hidden] fields that are not shown, besides those of bytes
 * @property {string[]} [without] fields that repeat what others, or the call, say
 */

const CONTAINING = { value: 'Any' };

/** @type {Record<string, ModelClass>} */
const CLASSES = {
  WriteTiming: { of: 'WriteTiming', doc: 'Where the time of a write went.' },
  SearchTiming: { of: 'SearchTiming', doc: 'Where the time of a search went.' },
  ShardProfile: {
    of: 'ShardProfile',
    doc: 'One call of a shard, as a profile has it. None: there is none, or a node of an earlier version does not say it.',
  },
  SearchProfile: {
    of: 'SearchProfile',
    doc: 'Where the time of a search went, step by step and shard by shard, in milliseconds.',
  },

  StorageQuota: { of: 'Collection.quota', doc: 'The most that a collection may hold.' },
  UnavailableShard: {
    of: ['Collection.unavailable_shards[]', 'get_health.unavailable[]'],
    doc: 'A shard that did not answer, and why, for people. ``collection`` in ``Health`` alone.',
  },
  KeywordField: {
    of: 'Collection.keyword_fields[]',
    doc: 'What keyword search looks in, and how much its words count.',
  },
  StopWords: { of: 'Collection.stop_words', doc: 'Stop words of a collection besides those of its language.' },
  CollectionEmbedding: { of: 'Collection.embedding', doc: 'How texts of a collection become vectors, as it was made.' },
  CollectionInfo: { of: 'Collection', doc: 'A collection as it was made, and how many vectors it has.' },
  Alias: { of: 'Alias', doc: 'Another name of a collection.' },
  IndexState: { of: 'CollectionStats.index', doc: 'How far an index is built.' },
  CollectionStats: { of: 'CollectionStats', doc: 'What a collection takes, and the state of its index.' },
  PurgedReplica: { of: 'Purge.shards[].replicas[]', doc: 'How far the purge of a replica is.' },
  PurgedShard: { of: 'Purge.shards[]', doc: 'The replicas of a shard.' },
  Purge: { of: 'Purge', doc: 'How far the purge of a collection is.' },
  Reshard: {
    of: 'Reshard',
    doc: 'A change of the number of shards that is under way.',
    names: { from: 'from_shards', to: 'to_shards' },
  },
  Deleted: {
    of: ['delete_collections_name', 'delete_collections_name_delete_id', 'delete_collections_name_judgements_id'],
    doc: 'What was deleted, by its name or external_id.',
    without: ['name', 'external_id', 'status'],
  },

  StoredVector: {
    of: ['StoredVector', 'get_collections_name_vectors_id'],
    doc: 'An item as it is stored.',
    mixin: 'HasVector',
    names: { vector: 'encoded' },
    hidden: ['vector'],
  },
  Upserted: { of: 'post_collections_name_upsert', doc: 'What became of one item.' },
  ItemChanged: { of: 'patch_collections_name_vectors_id', doc: 'An item of which parts were changed.' },
  ItemError: { of: 'post_collections_name_bulk_upsert.results[].error', doc: 'Why an item was skipped.' },
  BulkUpsertResult: {
    of: 'post_collections_name_bulk_upsert.results[]',
    doc: 'What became of one item of several. ``conflict`` and ``invalid`` were skipped (``on_error="skip"``).',
  },
  BulkUpsertAnswer: {
    of: 'post_collections_name_bulk_upsert',
    doc: 'What became of each item, in the order given.',
    rows: 'results',
  },
  BatchDeleted: {
    of: 'post_collections_name_delete_batch',
    doc: 'What was deleted of the ids given, and which were not there.',
    without: ['deleted'],
  },
  ScrollPage: {
    of: 'post_collections_name_scroll',
    doc: 'One page of a collection; ``next_cursor`` is None at the end.',
    rows: 'vectors',
  },

  HitContext: { of: 'SearchResult.context', doc: 'Neighbouring chunks of a document as one text (``expand``).' },
  Highlight: {
    of: 'SearchResult.highlights[]',
    doc: 'A fragment of a field with words of the query (``highlight``).',
  },
  Hit: { of: 'SearchResult', doc: 'Something found. Scores are always "higher is better".' },
  HitGroup: {
    of: 'post_collections_name_search.groups[]',
    doc: 'Hits with the same value under ``group_by``, best first.',
  },
  SearchAnswer: {
    of: 'post_collections_name_search',
    doc: 'Hits, best first. ``total_count`` counts the collection, whatever the filters say.',
    rows: 'results',
  },
  BulkSearchAnswer: {
    of: 'post_collections_name_bulk_search',
    doc: 'A list of hits for each query of one request.',
  },
  LegPlace: { of: 'HybridResult.legs[]', doc: 'A hit in one of the lists of ``legs``.' },
  HybridHit: {
    of: 'HybridResult',
    doc: 'Something found by meaning, by words, or both; the ranks come with ``explain``.',
  },
  HybridGroup: {
    of: 'post_collections_name_hybrid_search.groups[]',
    doc: 'Hits with the same value under ``group_by``, best first.',
  },
  HybridAnswer: {
    of: 'post_collections_name_hybrid_search',
    doc: 'Hits of both lists, fused by rank, best first.',
    rows: 'results',
  },
  RerankAnswer: {
    of: 'post_collections_name_rerank',
    doc: 'Exact scores of the candidates that exist, best first.',
    rows: 'results',
  },
  RecommendAnswer: {
    of: 'post_collections_name_recommend_id',
    doc: 'What is like a stored vector, best first, without itself.',
    rows: 'results',
  },
  QueryHit: { of: 'QueryResult', doc: 'A text found; "" with ``include_text=False``.' },
  QueryGroup: {
    of: 'post_query.groups[]',
    doc: 'Texts with the same value under ``group_by``, best first.',
  },
  QueryAnswer: { of: 'post_query', doc: 'Texts that answer a question, best first.', rows: 'results' },
  DescribedValue: {
    of: 'post_collections_name_describe.fields[].values[]',
    doc: 'A value of a field, and how many of the items have it.',
  },
  DescribedField: { of: 'post_collections_name_describe.fields[]', doc: 'A path of the metadata of a collection.' },
  DescribedItem: { of: 'post_collections_name_describe.samples[]', doc: 'An item that is shown.' },
  Description: { of: 'post_collections_name_describe', doc: 'What is in a collection, by a sample of its items.' },
  AnswerCitation: {
    of: 'post_answer.sentences[].citations[]',
    doc: 'Words of a source; ``source.text[start:end]`` in UTF-16 code units.',
  },
  AnswerSentence: { of: 'post_answer.sentences[]', doc: 'A sentence of an answer, and what supports it.' },
  AnswerSource: { of: 'post_answer.sources[]', doc: 'A passage that the model has read.' },
  AnswerUsage: { of: 'post_answer.usage', doc: 'Tokens of an answer.' },
  AnswerTiming: { of: 'post_answer.timing_ms', doc: 'Where the time of an answer went, in milliseconds.' },
  Answer: { of: 'post_answer', doc: 'What a language model answers, with checked citations.' },
  Reranked: { of: 'Reranked', doc: 'What a model has read of the results of a search.' },
  ScoredText: { of: 'post_rerank.results[]', doc: 'The place of a text among those that were given, and its score.' },
  RerankedTexts: { of: 'post_rerank', doc: 'Texts by how well they answer a query, best first.', rows: 'results' },
  DocumentUploaded: {
    of: 'post_documents_upload',
    doc: 'A document that was stored as chunks, named ``<document_id>-chunk-<n>``.',
  },
  DocumentAdded: { of: 'post_documents', doc: 'The job of a document, and how far it is.' },
  StoredDocument: { of: 'Document', doc: 'What is stored of a document.' },
  DocumentPage: {
    of: 'get_collections_name_documents',
    doc: 'Some documents; ``next_cursor`` is None at the end.',
  },
  DocumentDeleted: {
    of: 'delete_collections_name_documents_document_id',
    doc: 'A document that was deleted, and how many chunks it had.',
  },
  RecallReport: {
    of: 'RecallReport',
    doc: 'How many of the exact neighbours calibrated searches find, with what it costs.',
  },
  FoundSynonyms: {
    of: 'post_collections_name_analyse.synonyms[]',
    doc: 'Words of a query, from start to end in UTF-16 code units, and what they mean besides.',
  },
  PlacedTerm: {
    of: 'post_collections_name_analyse.terms[]',
    doc: 'A term, and where it is in the text: UTF-16 code units, ``end`` the first behind it.',
  },
  TextAnalysis: { of: 'post_collections_name_analyse', doc: 'The terms of a text, in its order.' },
  Judgements: { of: 'Judgements', doc: 'Queries that people judged, by name, without the queries.' },
  JudgedQuery: {
    of: 'get_collections_name_judgements_id.judged[]',
    doc: 'A query, and how good items are as its answer: grades by external_id.',
  },
  JudgedSet: { of: 'get_collections_name_judgements_id', doc: 'Queries that people judged.' },
  WhyCondition: { of: 'WhyReport.conditions[]', doc: 'What a search asks of items, and whether one passes.' },
  WhyLeg: { of: 'WhyReport.legs[]', doc: 'An item in one of the lists that a search is made of.' },
  WhyReport: { of: 'WhyReport', doc: 'Why a search does not find an item.' },
  Similarity: {
    of: 'post_collections_name_similarity',
    doc: 'The cosine of two stored vectors.',
    without: ['score'],
  },

  ValueCount: {
    of: 'post_collections_name_aggregate.facets[].values[]',
    doc: 'How many items have a value.',
    types: CONTAINING,
  },
  Facet: {
    of: 'post_collections_name_aggregate.facets[]',
    doc: 'The values of a field; ``missing`` counts the items without it.',
  },
  Bucket: {
    of: 'post_collections_name_aggregate.ranges[].buckets[]',
    doc: 'How many items are from ``start`` to below ``end``: numbers, or times as texts.',
    names: { from: 'start', to: 'end' },
    types: { from: 'Any', to: 'Any' },
  },
  Ranges: { of: 'post_collections_name_aggregate.ranges[]', doc: 'The buckets of a field.' },
  Statistics: {
    of: 'post_collections_name_aggregate.stats[]',
    doc: 'What was asked of the numbers of a field; None: not asked for, or there is no number.',
  },
  InnerGroup: {
    of: 'post_collections_name_aggregate.by.groups[].by.groups[]',
    doc: 'What was counted of the items that have a value of each of two fields.',
    types: CONTAINING,
  },
  InnerGroups: {
    of: 'post_collections_name_aggregate.by.groups[].by',
    doc: 'The items of a group by the most frequent values of another field.',
  },
  Group: {
    of: 'post_collections_name_aggregate.by.groups[]',
    doc: 'What was counted of the items that have a value.',
    types: CONTAINING,
  },
  Groups: { of: 'post_collections_name_aggregate.by', doc: 'Items by the most frequent values of a field.' },
  Aggregates: {
    of: 'post_collections_name_aggregate',
    doc: 'What was counted; ``hits`` and ``approximate`` with ``over`` alone.',
  },
  Counted: { of: 'post_collections_name_count', doc: 'How many items pass filters, exactly.' },

  SampleItem: { of: 'Sample.items[]', doc: 'One item of a sample.' },
  SampleVectors: {
    of: 'Sample.vectors',
    doc: 'The vectors of a sample, in the order of its items, as one text of base64.',
    mixin: 'HasRows',
    without: ['format'],
  },
  ProjectionBounds: {
    of: 'Sample.projection.bounds',
    doc: 'The least and the greatest value of each dimension.',
  },
  Projection: {
    of: 'Sample.projection',
    doc: 'The vectors of a sample in few dimensions, in the order of its items, as one text of base64.',
    mixin: 'HasRows',
    without: ['format'],
  },
  Sample: {
    of: 'Sample',
    doc: 'A uniform sample of what matches; the same seed draws the same one.',
    rows: 'items',
  },

  KeyScope: {
    of: ['ApiKey.collections[]', 'post_admin_keys(body).collections[]'],
    doc: 'Collections that a key is limited to: one by its ``name``, or all whose names begin with ``prefix``.',
  },
  KeyQuota: { of: 'ApiKey.quota', doc: 'The most that a key may store in a period.' },
  KeyQuotaUse: {
    of: 'UsageOfKey.quota_used',
    doc: 'What a key has stored of its quota in the present period; None: it is not bounded.',
    base: 'KeyQuota',
  },
  ApiKey: { of: 'ApiKey', doc: 'An API key without its secret.' },
  ApiKeyWithSecret: {
    of: ['ApiKeyWithSecret', 'RotatedApiKey'],
    doc: 'An API key with its secret, which is shown this once.',
    base: 'ApiKey',
    hidden: ['key'],
    without: ['rotated'],
  },
  KeyDeleted: { of: 'delete_admin_keys_id', doc: 'A key that was deleted.', without: ['id'] },
  Usage: { of: 'Usage', doc: 'Requests of one key, or of all.' },
  UsageOfKey: {
    of: 'UsageOfKey',
    doc: 'Requests of one key, and what it has stored of its quota.',
    base: 'Usage',
  },
  KeyUsage: { of: 'UsageSummary.by_key[]', doc: 'Requests of one key among all.', base: 'Usage' },
  UsageSummary: { of: 'UsageSummary', doc: 'Requests of all keys together, and of each.', base: 'Usage' },
  Caller: { of: 'Caller', doc: 'The key or the bearer token that a client sends.' },
  SignedIn: {
    of: 'post_sign_in',
    doc: "The admin key that a first start's link stands for.",
    hidden: ['api_key'],
  },

  Job: { of: 'Job', doc: 'Long work that goes on by itself.', mixin: 'IsOver' },
  JobPage: { of: 'get_jobs', doc: 'Some jobs, the newest first; ``next_cursor`` is None at the end.' },

  BackupShard: { of: 'Backup.collections[].shards[]', doc: 'How far a shard is in a backup.' },
  BackupCollection: { of: 'Backup.collections[]', doc: 'A collection in a backup.' },
  Verification: {
    of: 'Backup.verification',
    doc: 'What was found when the objects of a backup were read.',
  },
  LeftOutCollection: { of: 'Backup.left_out[]', doc: 'A collection that a backup was to have and lacks.' },
  Backup: { of: 'Backup', doc: 'A backup: how far it is, and what is in it.' },
  RestorableShard: {
    of: 'RestorableCollection.shards[]',
    doc: 'How far the log of a shard is in the backup target.',
  },
  RestorableCollection: {
    of: 'RestorableCollection',
    doc: "From when to when a collection can be restored to any moment; None where it can't.",
    names: { from: 'from_time' },
  },
  BackupList: {
    of: 'get_admin_backups',
    doc: 'All backups, the newest first, and what can be restored to any moment.',
  },
  RestoreCollection: {
    of: 'Restore.collections[]',
    doc: 'A collection that is restored, by its name in the backup and its new one.',
    names: { from: 'from_name' },
  },
  Restore: { of: 'Restore', doc: 'A restore: how far it is.' },

  Endpoint: { of: 'get.endpoints[]', doc: "One of the service's operations." },
  ServiceInfo: { of: 'get', doc: 'What answers at ``/``.' },
  HealthCollection: { of: 'get_health.collections[]', doc: 'A collection in ``Health``.' },
  EmbeddingState: { of: 'get_health.embedding', doc: 'Which model turns text into vectors.' },
  RerankStatus: { of: 'get_health.rerank', doc: 'The rerank models that searches may name, the default first.' },
  Health: { of: 'get_health', doc: 'Whether the service is well, and what it holds.' },
  Demo: { of: 'Demo', doc: 'The collection of texts to try things with.' },
  Rates: {
    of: ['Activity.requests', 'Activity.operations[]', 'Activity.embedding[]'],
    doc: 'How often something happens, and how long it takes.',
  },
  SlowRequest: { of: 'Activity.slow_requests[]', doc: 'A request that took long.' },
  ActivityProcess: {
    of: 'Activity.process',
    doc: 'The process that answered; ``id`` and ``pid`` are for admins.',
  },
  Activity: { of: 'Activity', doc: 'What a process does at present.' },

  Coordinator: { of: 'get_cluster.coordinators[]', doc: 'A process that serves the API.' },
  ClusterNode: { of: 'Node', doc: 'A process that stores shards.' },
  Learner: { of: 'Shard.learners[]', doc: 'A replica that is being filled.' },
  ClusterShard: { of: 'Shard', doc: 'A part of a collection, and who has it.' },
  Move: {
    of: 'get_cluster.moves[]',
    doc: 'A shard on its way to another node.',
    names: { from: 'from_node', to: 'to_node' },
  },
  ClusterState: { of: 'get_cluster', doc: 'Members, shards, and what moves.' },
  Adoption: {
    of: 'post_cluster_shards_collection_shard_adopt',
    doc: 'A replica that was made what counts.',
  },
};

/** Names of enumerations, wherever they are. */
const ALIASES = {
  DistanceMetric: 'Collection.distance_metric',
  JobState: 'Job.state',
  QuotaPeriod: 'ApiKey.quota.period',
  Role: 'ApiKey.role',
};

/** Operations whose answer is taken apart where it is asked for: it holds one list or number, or is a stream. */
const BARE_ANSWERS = new Set([
  'get_admin_keys',
  'get_admin_restores',
  'get_aliases',
  'get_collections',
  'get_collections_collection_name_export',
  'get_collections_name_judgements',
  'post_aliases',
  'post_collections_name_delete_by_filter',
  'post_collections_name_update_by_filter',
  'post_collections_name_vectors_fetch',
]);

module.exports = { ALIASES, BARE_ANSWERS, CLASSES };
