/**
 * One environment variable: how it is read, checked and explained. `readConfig` reads by this table, and the README's
 * configuration table is generated from it, so the two can't differ.
 */
export type Setting = IntegerSetting | FractionSetting | TextSetting | ChoiceSetting | SecretSetting;

interface SettingBase {
  /** The environment variable. */
  name: string;
  /** One sentence for the README's table, without a full stop. */
  meaning: string;
}

export interface IntegerSetting extends SettingBase {
  kind: 'integer';
  /** `cores`: as many as the process has processors. */
  fallback: number | 'cores';
  /** With `cores`: the most that is taken without being asked for. */
  fallbackMax?: number;
  minimum: number;
  maximum: number;
}

export interface FractionSetting extends SettingBase {
  kind: 'fraction';
  fallback: number;
  minimum: number;
  maximum: number;
}

export interface TextSetting extends SettingBase {
  kind: 'text';
  fallback: string;
}

export interface ChoiceSetting extends SettingBase {
  kind: 'choice';
  fallback: string;
  choices: readonly string[];
}

/** A text that is never shown, neither in errors nor in logs. Unset means that there is none. */
export interface SecretSetting extends SettingBase {
  kind: 'secret';
  /** Least number of characters. With it, a secret that repeats one character is refused, too. */
  lengthMin?: number;
}

/**
 * Short enough to type in a trial, long enough not to be guessed within the limit for bad keys: 100 a minute per
 * address.
 */
const SECRET_LENGTH_MIN = 8;
/**
 * Whoever can read etcd, or the traffic between members, can guess secrets offline and test each guess, so a short one
 * would be found. 16 random characters are 95 bits.
 */
const CLUSTER_SECRET_LENGTH_MIN = 16;

/** Every variable of the service itself, by the field of Config that it fills, in the order of the README. */
// prettier-ignore
export const SETTINGS = {
  port: { name: 'PORT', kind: 'integer', fallback: 8000, minimum: 0, maximum: 65535, meaning: 'Port of the API; 0 takes a free one' },
  host: { name: 'HOST', kind: 'text', fallback: '::', meaning: 'Address that every port listens on; `::`: all, over IPv6 and IPv4. Without IPv6 the default is `0.0.0.0`' },
  httpThreads: {
    name: 'HTTP_THREADS', kind: 'integer', fallback: 'cores', fallbackMax: 16, minimum: 1, maximum: 256,
    meaning: 'Threads that serve the API in one process; 1: the main thread itself. A coordinator has at most 16',
  },
  opsPort: {
    name: 'OPS_PORT', kind: 'integer', fallback: 9090, minimum: 0, maximum: 65535,
    meaning: 'Operations port: `/livez`, `/readyz` and `/metrics` without a key; 0 takes a free one, and so does the default where it is taken',
  },
  dataDir: { name: 'DATA_DIR', kind: 'text', fallback: 'data', meaning: 'Folder that holds everything stored; one process at a time' },
  dataExpected: {
    name: 'DATA_EXPECTED', kind: 'choice', fallback: 'false', choices: ['true', 'false'],
    meaning: '`true`: do not start in a DATA_DIR without data of an earlier start, such as an unmounted volume ([how](operations.md#when-data-are-gone))',
  },
  apiKey: {
    name: 'API_KEY', kind: 'secret', lengthMin: SECRET_LENGTH_MIN,
    meaning: 'Secret of key 1 (`default`, admin), 8 characters or more; unset, a random one is made at the first start and printed once',
  },
  apiKeyFile: { name: 'API_KEY_FILE', kind: 'text', fallback: '', meaning: 'File with API_KEY; a change takes effect within seconds' },
  apiTlsCertFile: {
    name: 'API_TLS_CERT_FILE', kind: 'text', fallback: '',
    meaning: 'PEM file of the API’s certificate and its chain; with the next one, the API port speaks TLS. Changes take effect within seconds',
  },
  apiTlsKeyFile: { name: 'API_TLS_KEY_FILE', kind: 'text', fallback: '', meaning: 'PEM file of its key' },
  jwtIssuer: {
    name: 'JWT_ISSUER', kind: 'text', fallback: '',
    meaning: 'Issuer of accepted bearer tokens, as their claim `iss` has it ([guide](guides/security.md#tokens-of-an-identity-provider)); empty: no tokens',
  },
  jwtAudience: { name: 'JWT_AUDIENCE', kind: 'text', fallback: '', meaning: 'Accepted values of their claim `aud`, separated by commas; required with JWT_ISSUER' },
  jwtJwksUrl: {
    name: 'JWT_JWKS_URL', kind: 'text', fallback: '',
    meaning: 'Address of the issuer’s public keys (JSON Web Key Set); empty: as its `/.well-known/openid-configuration` says',
  },
  jwtJwksFile: { name: 'JWT_JWKS_FILE', kind: 'text', fallback: '', meaning: 'A file with these keys instead; a change takes effect within seconds' },
  jwtAlgorithms: {
    // Shared secrets (HS256 and so on) and `none` can't be allowed at all.
    name: 'JWT_ALGORITHMS', kind: 'text', fallback: 'RS256,RS384,RS512,PS256,PS384,PS512,ES256,ES384,ES512,EdDSA',
    meaning: 'Algorithms that tokens may be signed with, separated by commas',
  },
  jwtRoleClaim: { name: 'JWT_ROLE_CLAIM', kind: 'text', fallback: 'role', meaning: 'Claim with the role, a text or a list; `realm_access.roles` is `roles` in `realm_access`. The highest counts' },
  jwtRoleMap: {
    name: 'JWT_ROLE_MAP', kind: 'text', fallback: '',
    meaning: 'What the values of that claim mean, as `operators=admin,apps=readwrite`; empty: `admin`, `readwrite`, `readonly`',
  },
  jwtDefaultRole: { name: 'JWT_DEFAULT_ROLE', kind: 'choice', fallback: '', choices: ['', 'readonly', 'readwrite'], meaning: 'Role of a token whose claim gives none; empty: it may do nothing' },
  jwtCollectionsClaim: {
    name: 'JWT_COLLECTIONS_CLAIM', kind: 'text', fallback: '',
    meaning: 'Claim with the collections of a token: names, prefixes as `team-a-*`, or `*`, each perhaps with a role, as `team-a-*:readwrite`; empty: all collections',
  },
  jwtSubjectClaim: { name: 'JWT_SUBJECT_CLAIM', kind: 'text', fallback: 'sub', meaning: 'Claim that names the caller, for limits and the audit log' },
  jwtRateLimitPerMinute: {
    name: 'JWT_RATE_LIMIT_PER_MINUTE', kind: 'integer', fallback: 0, minimum: 0, maximum: 1_000_000_000,
    meaning: 'Requests per subject of tokens in any 60 seconds, unless its token says otherwise; 0: as RATE_LIMIT_PER_MINUTE',
  },
  jwtQuotaItems: {
    name: 'JWT_QUOTA_ITEMS', kind: 'integer', fallback: 0, minimum: 0, maximum: 1_000_000_000_000,
    meaning: 'Items that each subject of tokens may write in a period, unless its token says otherwise; 0: any number ([guide](guides/security.md#quotas-of-keys))',
  },
  jwtQuotaBytes: {
    name: 'JWT_QUOTA_BYTES', kind: 'integer', fallback: 0, minimum: 0, maximum: 999_999_999_999_999,
    meaning: 'The same for bytes of vectors, metadata, texts and ids',
  },
  jwtQuotaPeriod: {
    name: 'JWT_QUOTA_PERIOD', kind: 'choice', fallback: 'month', choices: ['day', 'month', 'total'],
    meaning: 'The period of these quotas: a day or a month of UTC, or in all',
  },
  jwtLimitsClaim: {
    name: 'JWT_LIMITS_CLAIM', kind: 'text', fallback: '',
    meaning: 'Claim with the subject’s own limits instead of these four: an object, or JSON text, with `rate_limit_per_minute` and `quota` as keys have them; empty: none',
  },
  jwtToleranceSeconds: {
    name: 'JWT_TOLERANCE_SECONDS', kind: 'integer', fallback: 30, minimum: 0, maximum: 300,
    meaning: 'How far the issuer’s clock may be from this one, in seconds',
  },
  rateLimitPerMinute: {
    name: 'RATE_LIMIT_PER_MINUTE', kind: 'integer', fallback: 100, minimum: 0, maximum: 1_000_000_000,
    meaning: 'Requests per key, or subject of tokens, in any 60 seconds; 0 turns the limit off',
  },
  badKeyLimitPerMinute: {
    name: 'BAD_KEY_LIMIT_PER_MINUTE', kind: 'integer', fallback: 100, minimum: 0, maximum: 1_000_000_000,
    meaning: 'Requests without a valid key per client address in any 60 seconds; 0 turns the limit off',
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES', kind: 'text', fallback: '',
    meaning: 'Networks of proxies in front of the API, separated by commas, as `10.0.0.0/8,fd00::/8`: their `x-forwarded-for` names the client, their `x-forwarded-prefix` the path (BASE_PATH); empty: none',
  },
  httpStatus: {
    name: 'HTTP_STATUS', kind: 'choice', fallback: '200', choices: ['200', 'real'],
    meaning: 'HTTP status of errors: `200`, or `real`: the error’s code. A request chooses by `Prefer: status=real` or `status=200`',
  },
  corsOrigins: {
    name: 'CORS_ORIGINS', kind: 'text', fallback: '',
    meaning: 'Origins whose pages may use the API and `/mcp` (CORS), separated by commas, as `https://app.example.com`; `*`: all; empty: none',
  },
  basePath: {
    name: 'BASE_PATH', kind: 'text', fallback: '',
    meaning: 'Path under which a proxy has the service, as `/tools/quiver`: used in links, redirects and the OpenAPI document; requests may omit it. `x-forwarded-prefix` of TRUSTED_PROXIES wins',
  },
  batchItemsMax: {
    name: 'MAX_BATCH_SIZE', kind: 'integer', fallback: 1000, minimum: 1, maximum: 1_000_000,
    meaning: 'Items in one bulk_upsert and ids in one delete_batch',
  },
  bodyBytesMax: {
    name: 'MAX_BODY_BYTES', kind: 'integer', fallback: 67_108_864, minimum: 1024, maximum: 1_073_741_824,
    meaning: 'Bytes of a JSON body of bulk_upsert, bulk_search, rerank and delete_batch, as sent and as unpacked',
  },
  requestBytesMax: {
    // Room for the largest vector, metadata and a long text. Parsing it takes at most about 20 ms.
    name: 'MAX_REQUEST_BYTES', kind: 'integer', fallback: 2_097_152, minimum: 1024, maximum: 1_073_741_824,
    meaning: 'Bytes of any other JSON body (at most MAX_BODY_BYTES), and of each item, query or id of those',
  },
  jsonDepthMax: {
    // The deepest filter that is accepted needs 98.
    name: 'MAX_JSON_DEPTH', kind: 'integer', fallback: 128, minimum: 8, maximum: 1024,
    meaning: 'Objects and arrays inside one another in a JSON body',
  },
  jsonValuesMax: {
    // Metadata of 65,536 bytes hold 32,767 values at most; building this many takes some 15 ms.
    name: 'MAX_JSON_VALUES', kind: 'integer', fallback: 100_000, minimum: 100, maximum: 100_000_000,
    meaning: 'Values of a JSON body at any depth, without numbers of vectors; in a bulk, of each item, query or id',
  },
  jsonKeysMax: {
    // Metadata of 65,536 bytes hold 13,107 members at most; building this many takes 50 ms where each object has a key
    // of its own.
    name: 'MAX_JSON_KEYS', kind: 'integer', fallback: 16_384, minimum: 100, maximum: 100_000_000,
    meaning: 'Members of objects of a JSON body, at any depth; in a bulk, of each item, query or id',
  },
  uploadBytesMax: {
    name: 'MAX_UPLOAD_BYTES', kind: 'integer', fallback: 26_214_400, minimum: 1, maximum: 1_073_741_824,
    meaning: 'Bytes of an uploaded document',
  },
  metadataBytesMax: {
    name: 'MAX_METADATA_BYTES', kind: 'integer', fallback: 65_536, minimum: 2, maximum: 16_777_216,
    meaning: "Bytes of one item's metadata as JSON",
  },
  metadataFieldsMax: {
    // An index entry costs some hundred bytes, often more than the value itself. Indexing this many takes some ten
    // milliseconds.
    name: 'MAX_METADATA_FIELDS', kind: 'integer', fallback: 4096, minimum: 1, maximum: 1_000_000,
    meaning: "Keys and array elements in one item's metadata, at all depths",
  },
  collectionFieldsMax: {
    // Each takes one or two kilobytes of memory.
    name: 'MAX_COLLECTION_FIELDS', kind: 'integer', fallback: 10_000, minimum: 1, maximum: 10_000_000,
    meaning: 'Distinct metadata keys (by their place in the nesting) in each shard of a collection',
  },
  textBytesMax: {
    // At worst, its analysis takes some seconds in all, and the longest step that can't be split some tens of
    // milliseconds.
    name: 'MAX_TEXT_BYTES', kind: 'integer', fallback: 262_144, minimum: 1, maximum: 16_777_216,
    meaning: "Bytes of one item's `text` or `content` in UTF-8",
  },
  vectorDimMax: {
    name: 'MAX_VECTOR_DIM', kind: 'integer', fallback: 16_384, minimum: 1, maximum: 65_536,
    meaning: 'Largest dimension of a collection',
  },
  kMax: { name: 'MAX_K', kind: 'integer', fallback: 10_000, minimum: 1, maximum: 1_000_000, meaning: 'Largest k + offset of a search' },
  bulkQueriesMax: { name: 'MAX_BULK_QUERIES', kind: 'integer', fallback: 20, minimum: 1, maximum: 1000, meaning: 'Queries of one bulk_search' },
  searchEffortMax: { name: 'MAX_EF', kind: 'integer', fallback: 10_000, minimum: 1, maximum: 10_000, meaning: 'Largest effort (`ef`) that a search may ask for by hand' },
  cursorSeconds: {
    name: 'CURSOR_SECONDS', kind: 'integer', fallback: 300, minimum: 1, maximum: 3600,
    meaning: 'How long after its first page a search goes on by cursors, in seconds',
  },
  queryLengthMax: {
    name: 'MAX_QUERY_LENGTH', kind: 'integer', fallback: 1000, minimum: 1, maximum: 1_000_000,
    meaning: 'Characters of a natural-language query',
  },
  searchTextLengthMax: {
    // About five hundred words: stemming a new word takes about 20 µs, and blocks all other requests meanwhile.
    name: 'MAX_SEARCH_TEXT_LENGTH', kind: 'integer', fallback: 4096, minimum: 1, maximum: 1_000_000,
    meaning: 'Characters of `text` of search, bulk_search and rerank, and of `query_text` of hybrid_search',
  },
  filterConditionsMax: {
    // Each condition is evaluated over all items of a shard: a millisecond per million items at worst.
    name: 'MAX_FILTER_CONDITIONS', kind: 'integer', fallback: 1_024, minimum: 1, maximum: 65_536,
    meaning: 'Conditions in one filter',
  },
  filterValuesMax: {
    // Each is one look-up in memory.
    name: 'MAX_FILTER_VALUES', kind: 'integer', fallback: 16_384, minimum: 1, maximum: 1_048_576,
    meaning: 'Values in all lists of `$in` and `$nin` of one filter together',
  },
  filterDepthMax: {
    // Evaluation is recursive, and no practical filter is deeper.
    name: 'MAX_FILTER_DEPTH', kind: 'integer', fallback: 32, minimum: 1, maximum: 64,
    meaning: 'Nesting of `$and`, `$or` and `$not` in one filter',
  },
  embeddingModel: {
    name: 'EMBEDDING_MODEL', kind: 'text', fallback: 'Xenova/all-MiniLM-L6-v2',
    meaning: 'Model that turns text into vectors: a transformers model name, a local folder, or `builtin`',
  },
  embeddingModels: {
    name: 'EMBEDDING_MODELS', kind: 'text', fallback: '',
    meaning: 'Further local models that the `embedding` of a collection may name, separated by commas',
  },
  embeddingProviders: {
    name: 'EMBEDDING_PROVIDERS', kind: 'text', fallback: '',
    meaning: 'Servers whose models a collection may name: JSON, or a file with it ([form](models.md#providers)). Empty: none',
  },
  embeddingDtype: {
    name: 'EMBEDDING_DTYPE', kind: 'choice', fallback: 'auto',
    choices: ['auto', 'q8', 'fp32', 'int8', 'uint8', 'fp16', 'q4', 'bnb4', 'q4f16'],
    meaning: 'Number format of the model (which of its files); `auto`: the first of these that it has',
  },
  embeddingCacheDir: {
    name: 'EMBEDDING_CACHE_DIR', kind: 'text', fallback: '',
    meaning: 'Folder that keeps fetched models; empty: `models` in DATA_DIR',
  },
  embeddingOffline: {
    name: 'EMBEDDING_OFFLINE', kind: 'choice', fallback: 'false', choices: ['false', 'true'],
    meaning: '`true`: models come only from a local folder or EMBEDDING_CACHE_DIR',
  },
  embeddingHub: {
    name: 'EMBEDDING_HUB', kind: 'text', fallback: 'https://huggingface.co',
    meaning: 'The hub for models, or a mirror of it',
  },
  embeddingRevision: {
    name: 'EMBEDDING_REVISION', kind: 'text', fallback: '',
    meaning: 'Commit, tag or branch of EMBEDDING_MODEL on the hub; empty: a known commit for the default model, `main` for others',
  },
  embeddingSha256: {
    name: 'EMBEDDING_SHA256', kind: 'text', fallback: '',
    meaning: 'Required SHA-256 of the graph of EMBEDDING_MODEL (`onnx/….onnx`, then the weights beside it); empty: not checked',
  },
  embeddingThreads: {
    name: 'EMBEDDING_THREADS', kind: 'integer', fallback: 'cores', minimum: 1, maximum: 64,
    meaning: 'Threads that embed, each with a copy of the model',
  },
  rerankModel: {
    name: 'RERANK_MODEL', kind: 'text', fallback: '',
    meaning: 'Models that rerank, separated by commas, the default first: a cross-encoder’s name or folder, `late-interaction:` and an embedding model, `NAME=tei:URL` or `NAME=cohere:URL`; `NAME=` gives any a name. Empty: none',
  },
  rerankThreads: {
    name: 'RERANK_THREADS', kind: 'integer', fallback: 'cores', minimum: 1, maximum: 64,
    meaning: 'Threads that rerank, each with a copy of the model; of a remote model, calls at once',
  },
  rerankRevision: {
    name: 'RERANK_REVISION', kind: 'text', fallback: '',
    meaning: 'As EMBEDDING_REVISION, of the first of RERANK_MODEL',
  },
  rerankSha256: {
    name: 'RERANK_SHA256', kind: 'text', fallback: '',
    meaning: 'As EMBEDDING_SHA256, of the first of RERANK_MODEL',
  },
  rerankApiKey: {
    name: 'RERANK_API_KEY', kind: 'secret',
    meaning: 'Sent to remote models of RERANK_MODEL',
  },
  llmBaseUrl: {
    name: 'LLM_BASE_URL', kind: 'text', fallback: '',
    meaning: 'Language model that speaks OpenAI’s protocol, as http://127.0.0.1:11434/v1; empty: none',
  },
  llmApiKey: {
    name: 'LLM_API_KEY', kind: 'secret',
    meaning: 'Sent to LLM_BASE_URL',
  },
  llmModels: {
    name: 'LLM_MODELS', kind: 'text', fallback: '',
    meaning: 'Models of LLM_BASE_URL that requests may name, separated by commas, the default first',
  },
  llmTokensPerDay: {
    name: 'LLM_TOKENS_PER_DAY', kind: 'integer', fallback: 0, minimum: 0, maximum: 1_000_000_000_000,
    meaning: 'Tokens that each key may use in a day (UTC), of prompts and answers together; 0: any number',
  },
  llmTimeoutMs: {
    name: 'LLM_TIMEOUT_MS', kind: 'integer', fallback: 60_000, minimum: 100, maximum: 280_000,
    meaning: 'Longest time that a language model writes; what is there by then is the answer',
  },
  llmCalls: {
    name: 'LLM_CALLS', kind: 'integer', fallback: 32, minimum: 1, maximum: 1024,
    meaning: 'Calls of LLM_BASE_URL at once; more are refused as busy',
  },
  llmPromptCharacters: {
    name: 'LLM_PROMPT_CHARACTERS', kind: 'integer', fallback: 24_000, minimum: 1000, maximum: 1_000_000,
    meaning: 'Characters of passages in a prompt; the worst that do not fit are left out',
  },
  chunkSize: {
    name: 'CHUNK_SIZE', kind: 'integer', fallback: 500, minimum: 16, maximum: 1_000_000,
    meaning: 'Most characters of a document’s chunk; fewer where the model reads less',
  },
  chunkOverlap: {
    name: 'CHUNK_OVERLAP', kind: 'integer', fallback: 50, minimum: 0, maximum: 500_000,
    meaning: 'Characters that neighbouring chunks share, about; below CHUNK_SIZE',
  },
  parserMemoryMiB: {
    // The process and pdf.js take 120; a PDF of 25 MB some hundreds.
    name: 'PARSER_MEMORY_MB', kind: 'integer', fallback: 512, minimum: 192, maximum: 65_536,
    meaning: 'MiB of the process that reads documents; a file that takes more fails',
  },
  parserTimeoutMs: {
    name: 'PARSER_TIMEOUT_MS', kind: 'integer', fallback: 120_000, minimum: 1_000, maximum: 3_600_000,
    meaning: 'Longest time to read a document in it',
  },
  recallTarget: {
    name: 'RECALL_TARGET', kind: 'fraction', fallback: 0.99, minimum: 0.5, maximum: 0.9999,
    meaning: 'Recall that searches are calibrated to',
  },
  defaultShards: {
    name: 'DEFAULT_SHARDS', kind: 'integer', fallback: 1, minimum: 1, maximum: 256,
    meaning: 'Shards of a new collection that names none',
  },
  defaultReplicas: {
    name: 'DEFAULT_REPLICAS', kind: 'integer', fallback: 1, minimum: 1, maximum: 5,
    meaning: 'Replicas of a new collection that names none',
  },
  collectionQuotaItems: {
    name: 'COLLECTION_QUOTA_ITEMS', kind: 'integer', fallback: 0, minimum: 0, maximum: 1_000_000_000_000,
    meaning: 'Items that a new collection may hold; only admins set another quota; 0: any number',
  },
  collectionQuotaBytes: {
    name: 'COLLECTION_QUOTA_BYTES', kind: 'integer', fallback: 0, minimum: 0, maximum: 999_999_999_999_999,
    meaning: 'The same for bytes on the disk, of one replica',
  },
  collectionsMax: {
    name: 'MAX_COLLECTIONS', kind: 'integer', fallback: 0, minimum: 0, maximum: 1_000_000,
    meaning: 'Most collections; 0: by the memory, 100 to 10,000, embedded to 50,000',
  },
  shardsMax: {
    name: 'MAX_SHARDS', kind: 'integer', fallback: 0, minimum: 0, maximum: 1_000_000,
    meaning: 'Most shards of this process (in a cluster replicas on this node); 0: by open files and memory',
  },
  idleShardSeconds: {
    // Opening again takes some milliseconds: minutes, so that nobody who is at work waits for it.
    name: 'IDLE_SHARD_SECONDS', kind: 'integer', fallback: 300, minimum: 0, maximum: 31_536_000,
    meaning: 'A shard of few items that is unused for so long is closed until its next use, without BACKUP_LOG; it then takes some kilobytes and no open files; 0: never',
  },
  indexThreads: {
    name: 'INDEX_THREADS', kind: 'integer', fallback: 'cores', minimum: 1, maximum: 1024,
    meaning: 'Native threads that build indexes in the background',
  },
  storeCacheBytes: {
    name: 'STORE_CACHE_BYTES', kind: 'integer', fallback: 134_217_728, minimum: 0, maximum: 1_099_511_627_776,
    meaning: 'Cache of pieces of record files, for all shards of the process',
  },
  storeWriteBufferBytes: {
    name: 'STORE_WRITE_BUFFER_BYTES', kind: 'integer', fallback: 268_435_456, minimum: 1_048_576, maximum: 1_099_511_627_776,
    meaning: 'Memory for records not yet in a file, about, for all shards of the process',
  },
  logLevel: {
    name: 'LOG_LEVEL', kind: 'choice', fallback: 'info',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    meaning: 'Least level of the log',
  },
  logRequests: {
    // A line for each request costs a busy process a sixth of its searches.
    name: 'LOG_REQUESTS', kind: 'choice', fallback: 'notable', choices: ['notable', 'all'],
    meaning: 'Requests with a line in the log: failed, slow and administrative ones; or all',
  },
  logSlowMs: {
    name: 'LOG_SLOW_MS', kind: 'integer', fallback: 1000, minimum: 0, maximum: 3_600_000,
    meaning: 'From how many milliseconds on a request is slow',
  },
  auditLog: {
    name: 'AUDIT_LOG', kind: 'text', fallback: '',
    meaning: 'Where the audit log goes: a file, or `stdout`; empty: there is none',
  },
  auditReads: {
    // Each line costs about as much processor time as a small search.
    name: 'AUDIT_LOG_READS', kind: 'choice', fallback: 'false', choices: ['false', 'true'],
    meaning: '`true`: searches and other reads get a line in the audit log, too',
  },
  auditBytesMax: {
    name: 'AUDIT_LOG_BYTES', kind: 'integer', fallback: 104_857_600, minimum: 4096, maximum: 1_099_511_627_776,
    meaning: 'Bytes of the audit log’s file, beyond which another is begun',
  },
  auditFilesMax: {
    name: 'AUDIT_LOG_FILES', kind: 'integer', fallback: 10, minimum: 0, maximum: 1000,
    meaning: 'Earlier files of it that are kept, as `<file>.1` (the latest) and so on',
  },
  auditFailure: {
    name: 'AUDIT_LOG_FAILURE', kind: 'choice', fallback: 'continue', choices: ['continue', 'refuse'],
    meaning: 'While it can not be written: `continue`: changes go on, lines may be lost and are counted; `refuse`: changes are refused',
  },
  requestTimeoutMs: {
    name: 'REQUEST_TIMEOUT_MS', kind: 'integer', fallback: 60_000, minimum: 100, maximum: 3_600_000,
    meaning: 'Longest that a call may take, in milliseconds',
  },
  stallTimeoutMs: {
    // Longer than a browser or proxy pauses. Short enough that clients that never read can't fill the process.
    name: 'STALL_TIMEOUT_MS', kind: 'integer', fallback: 30_000, minimum: 100, maximum: 3_600_000,
    meaning: 'Longest that a client may send nothing of its body, or take nothing of its answer, in milliseconds; then the connection ends',
  },
  stallBytesPerSecond: {
    // A modem's line; whoever is slower keeps the memory of an answer for hours.
    name: 'STALL_BYTES_PER_SECOND', kind: 'integer', fallback: 4096, minimum: 0, maximum: 1_000_000_000,
    meaning: 'Bytes of its answer that a client must take per second, on the mean over STALL_TIMEOUT_MS; else the connection ends. 0: any number',
  },
  answerBytesMax: {
    name: 'MAX_ANSWER_MEMORY_BYTES', kind: 'integer', fallback: 0, minimum: 0, maximum: 999_999_999_999_999,
    meaning: 'Memory for answers from their reading until clients have taken them, per process; beyond it reads wait, and are refused (429) after a second. 0: an eighth of the memory, at most 512 MiB',
  },
  apiMetrics: {
    name: 'API_METRICS', kind: 'choice', fallback: 'true', choices: ['true', 'false'],
    meaning: '`false`: no `/metrics` on the API port, where it needs no key; OPS_PORT has it all the same',
  },
  apiDocs: {
    name: 'API_DOCS', kind: 'choice', fallback: 'true', choices: ['true', 'false'],
    meaning: '`false`: no `/docs` and `/openapi.json`, which need no key',
  },
  apiUi: {
    name: 'API_UI', kind: 'choice', fallback: 'true', choices: ['true', 'false'],
    meaning: '`false`: no dashboard at `/ui`, whose files need no key',
  },
  mcp: {
    name: 'MCP', kind: 'choice', fallback: 'false', choices: ['true', 'false'],
    meaning: '`true`: the Model Context Protocol at `/mcp`, under the callers’ keys ([guide](guides/language-models.md))',
  },
  mcpOrigins: {
    name: 'MCP_ORIGINS', kind: 'text', fallback: '',
    meaning: 'Further origins whose pages may use `/mcp`, separated by commas, as `https://tools.example.com`; this machine, CORS_ORIGINS and programs always may',
  },
  backupTarget: {
    name: 'BACKUP_TARGET', kind: 'text', fallback: '',
    meaning: 'Where backups are kept: `file:/folder` or `s3://bucket/prefix`; in a cluster the same for all members; empty: none',
  },
  backupSchedule: {
    name: 'BACKUP_SCHEDULE', kind: 'text', fallback: '',
    meaning: 'When a backup of everything is taken: cron’s five fields, in UTC, as `0 3 * * *`; empty: never',
  },
  backupKeep: {
    name: 'BACKUP_KEEP', kind: 'text', fallback: '7d,4w,12m',
    meaning: 'Which scheduled backups are kept: the newest of each of the last hours (`h`), days (`d`), weeks (`w`), months (`m`) and years (`y`)',
  },
  backupLog: {
    name: 'BACKUP_LOG', kind: 'choice', fallback: 'false', choices: ['true', 'false'],
    meaning: '`true`: ship every shard’s log to BACKUP_TARGET, for restores to any moment ([guide](guides/backup.md)); the same for all members',
  },
  backupLogSeconds: {
    name: 'BACKUP_LOG_SECONDS', kind: 'integer', fallback: 5, minimum: 1, maximum: 300,
    meaning: 'How often, in seconds: what a loss of everything costs at most',
  },
  backupLogKeptBytes: {
    name: 'BACKUP_LOG_KEPT_BYTES', kind: 'integer', fallback: 2_147_483_648, minimum: 1_048_576, maximum: 1_099_511_627_776,
    meaning: 'Bytes of logs that a process keeps while BACKUP_TARGET is away; beyond it, and where less than a tenth of the disk is free, the oldest are given up',
  },
  backupS3Endpoint: {
    name: 'BACKUP_S3_ENDPOINT', kind: 'text', fallback: '',
    meaning: 'Address of the store of an `s3:` target, as `https://host:port`; empty: AWS',
  },
  backupS3Region: { name: 'BACKUP_S3_REGION', kind: 'text', fallback: 'us-east-1', meaning: 'Its region' },
  backupS3PathStyle: {
    name: 'BACKUP_S3_PATH_STYLE', kind: 'choice', fallback: 'true', choices: ['true', 'false'],
    meaning: '`true`: the bucket is in the path of URLs; `false`: in the name of the host',
  },
  backupS3AccessKeyId: { name: 'BACKUP_S3_ACCESS_KEY_ID', kind: 'secret', meaning: 'Its access key id; without it and the file, credentials are found as AWS’s programs find them ([guide](guides/backup.md))' },
  backupS3SecretAccessKey: { name: 'BACKUP_S3_SECRET_ACCESS_KEY', kind: 'secret', meaning: 'Its secret' },
  backupS3SessionToken: { name: 'BACKUP_S3_SESSION_TOKEN', kind: 'secret', meaning: 'Token of a session, where the key needs one' },
  backupS3CredentialsFile: {
    name: 'BACKUP_S3_CREDENTIALS_FILE', kind: 'text', fallback: '',
    meaning: 'A file with `aws_access_key_id`, `aws_secret_access_key` and perhaps `aws_session_token`, as `name=value`, instead of the three; read again when refused',
  },
  backupS3Encryption: {
    name: 'BACKUP_S3_ENCRYPTION', kind: 'choice', fallback: '', choices: ['', 'AES256', 'aws:kms'],
    meaning: 'Encryption that the store is asked for (`x-amz-server-side-encryption`); empty: none',
  },
  backupSecret: {
    name: 'BACKUP_SECRET', kind: 'secret', lengthMin: CLUSTER_SECRET_LENGTH_MIN,
    meaning: 'Secret that seals backups; at least 16 characters, the same for all members; BACKUP_SECRET_FILE names a file with it. Unset: CLUSTER_SECRET, embedded that in `DATA_DIR/backup-secret`, made at the first start ([guide](guides/backup.md#seals))',
  },
  backupSecretOther: {
    name: 'BACKUP_SECRET_OTHER', kind: 'secret', lengthMin: CLUSTER_SECRET_LENGTH_MIN,
    meaning: 'Another accepted secret: the earlier one, or that of the service whose backups are restored',
  },
  backupBytesPerSecond: {
    name: 'BACKUP_BYTES_PER_SECOND', kind: 'integer', fallback: 104_857_600, minimum: 65_536, maximum: 10_737_418_240,
    meaning: 'Most that a process writes to BACKUP_TARGET, or reads to verify',
  },
  shutdownTimeoutMs: {
    // Below the 30 s that Kubernetes gives a container between SIGTERM and SIGKILL.
    name: 'SHUTDOWN_TIMEOUT_MS', kind: 'integer', fallback: 25_000, minimum: 0, maximum: 3_600_000,
    meaning: 'Longest graceful stop before the process ends hard, in milliseconds',
  },
} as const satisfies Record<string, Setting>;

/** What a coordinator and a storage node of a cluster read in addition, by the field of ClusterConfig. */
// prettier-ignore
export const CLUSTER_SETTINGS = {
  etcdEndpoints: {
    name: 'ETCD_ENDPOINTS', kind: 'text', fallback: 'http://127.0.0.1:2379',
    meaning: 'etcd members, as `http://host:port` or `https://host:port`, separated by commas',
  },
  etcdUsername: { name: 'ETCD_USERNAME', kind: 'text', fallback: '', meaning: 'User of etcd; empty: none' },
  etcdPassword: { name: 'ETCD_PASSWORD', kind: 'secret', meaning: 'Its password' },
  etcdPasswordFile: { name: 'ETCD_PASSWORD_FILE', kind: 'text', fallback: '', meaning: 'File with ETCD_PASSWORD; a change is used from the next token on' },
  etcdCaFile: { name: 'ETCD_CA_FILE', kind: 'text', fallback: '', meaning: 'PEM file of the authority that signed the certificates of etcd' },
  etcdCertFile: { name: 'ETCD_CERT_FILE', kind: 'text', fallback: '', meaning: 'PEM file of the certificate shown to etcd' },
  etcdKeyFile: { name: 'ETCD_KEY_FILE', kind: 'text', fallback: '', meaning: 'PEM file of its key' },
  memberId: {
    name: 'NODE_ID', kind: 'text', fallback: '',
    meaning: 'Name of this process in the cluster, kept over restarts; empty: the host name',
  },
  advertiseAddress: {
    name: 'ADVERTISE_ADDRESS', kind: 'text', fallback: '',
    meaning: 'Host, or host:port, by which other members reach the RPC port; empty: the host name and RPC_PORT',
  },
  rpcPort: {
    name: 'RPC_PORT', kind: 'integer', fallback: 7100, minimum: 0, maximum: 65535,
    meaning: 'Port for other members; 0 takes a free one',
  },
  zone: { name: 'ZONE', kind: 'text', fallback: '', meaning: 'Zone of a storage node: replicas of a shard are spread over zones; empty: none' },
  clusterSecret: { name: 'CLUSTER_SECRET', kind: 'secret', lengthMin: CLUSTER_SECRET_LENGTH_MIN, meaning: 'Secret that members prove to each other, and that seals their entries in etcd; at least 16 characters, required, the same for all' },
  clusterSecretOther: { name: 'CLUSTER_SECRET_OTHER', kind: 'secret', lengthMin: CLUSTER_SECRET_LENGTH_MIN, meaning: 'A second accepted one, while CLUSTER_SECRET is replaced' },
  clusterSecretFile: { name: 'CLUSTER_SECRET_FILE', kind: 'text', fallback: '', meaning: 'File with CLUSTER_SECRET, read at the start' },
  clusterSecretOtherFile: { name: 'CLUSTER_SECRET_OTHER_FILE', kind: 'text', fallback: '', meaning: 'The same for CLUSTER_SECRET_OTHER' },
  clusterSeals: {
    name: 'CLUSTER_SEALS', kind: 'choice', fallback: 'required', choices: ['required', 'adopt'],
    meaning: '`required`: entries of etcd without a seal are ignored; `adopt`: they are sealed, once, for a cluster of an earlier version',
  },
  tlsCaFile: { name: 'TLS_CA_FILE', kind: 'text', fallback: '', meaning: "PEM file of the authority of the members' certificates; with the next two, members speak mutual TLS" },
  tlsCertFile: { name: 'TLS_CERT_FILE', kind: 'text', fallback: '', meaning: 'PEM file of the certificate of this member' },
  tlsKeyFile: { name: 'TLS_KEY_FILE', kind: 'text', fallback: '', meaning: 'PEM file of its key' },
  tlsServerName: {
    name: 'TLS_SERVER_NAME', kind: 'text', fallback: '',
    meaning: 'Name that certificates of other members must be valid for; empty: the host of their address',
  },
  readReplicas: {
    name: 'READ_REPLICAS', kind: 'choice', fallback: 'in-sync', choices: ['in-sync', 'primary'],
    meaning: '`in-sync`: other in-sync replicas help a busy primary with reads, with the same guarantees; `primary`: they do not',
  },
  readThreads: {
    name: 'READ_THREADS', kind: 'integer', fallback: 'cores', fallbackMax: 16, minimum: 1, maximum: 64,
    meaning: 'Threads of a storage node that answer reads; 1: the main thread itself',
  },
  copyBytesPerSecond: {
    name: 'COPY_BYTES_PER_SECOND', kind: 'integer', fallback: 52_428_800, minimum: 65_536, maximum: 10_737_418_240,
    meaning: 'Most that a storage node sends of copied shards',
  },
  compareReplicasSeconds: {
    // Faults of disks and memory are rare, and each comparison reads a whole shard.
    name: 'COMPARE_REPLICAS_SECONDS', kind: 'integer', fallback: 86_400, minimum: 0, maximum: 31_536_000,
    meaning: 'How often a storage node compares the replicas of each shard that it leads, in seconds; 0: never',
  },
} as const satisfies Record<string, Setting>;

/** Defaults of a storage node that differ from the table above, so that both roles can run on one host. */
export const NODE_FALLBACKS = { OPS_PORT: '9091' } as const;
