/**
 * One environment variable: how it is read, checked and explained. `readConfig` reads by this table and the README's
 * configuration table is generated from it, so the two cannot drift apart.
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

/** A text that is never shown, neither in errors nor in logs; unset means none. */
export interface SecretSetting extends SettingBase {
  kind: 'secret';
}

/** Every variable of the service itself, by the field of Config that it fills, in the order of the README. */
export const SETTINGS = {
  port: { name: 'PORT', kind: 'integer', fallback: 8000, minimum: 0, maximum: 65535, meaning: 'Port of the API; 0 takes a free one' },
  host: { name: 'HOST', kind: 'text', fallback: '0.0.0.0', meaning: 'Address that the API and the operations port listen on' },
  opsPort: {
    name: 'OPS_PORT', kind: 'integer', fallback: 9090, minimum: 0, maximum: 65535,
    meaning: 'Operations port: `/livez`, `/readyz` and `/metrics` without a key; 0 takes a free one',
  },
  dataDir: { name: 'DATA_DIR', kind: 'text', fallback: 'data', meaning: 'Folder that holds everything stored; one process at a time' },
  apiKey: {
    name: 'API_KEY', kind: 'secret',
    meaning: 'Secret of key 1 (`default`, admin); unset, a random one is made at the first start and printed once',
  },
  rateLimitPerMinute: {
    name: 'RATE_LIMIT_PER_MINUTE', kind: 'integer', fallback: 100, minimum: 0, maximum: 1_000_000_000,
    meaning: 'Requests per key in any 60 seconds; 0 turns the limit off',
  },
  batchItemsMax: {
    name: 'MAX_BATCH_SIZE', kind: 'integer', fallback: 1000, minimum: 1, maximum: 1_000_000,
    meaning: 'Items in one bulk_upsert and ids in one delete_batch',
  },
  bodyBytesMax: {
    name: 'MAX_BODY_BYTES', kind: 'integer', fallback: 67_108_864, minimum: 1024, maximum: 1_073_741_824,
    meaning: 'Bytes of a JSON body',
  },
  uploadBytesMax: {
    name: 'MAX_UPLOAD_BYTES', kind: 'integer', fallback: 26_214_400, minimum: 1, maximum: 1_073_741_824,
    meaning: 'Bytes of an uploaded document',
  },
  metadataBytesMax: {
    name: 'MAX_METADATA_BYTES', kind: 'integer', fallback: 65_536, minimum: 2, maximum: 16_777_216,
    meaning: "Bytes of one item's metadata as JSON",
  },
  vectorDimMax: {
    name: 'MAX_VECTOR_DIM', kind: 'integer', fallback: 16_384, minimum: 1, maximum: 65_536,
    meaning: 'Largest dimension of a collection',
  },
  kMax: { name: 'MAX_K', kind: 'integer', fallback: 10_000, minimum: 1, maximum: 1_000_000, meaning: 'Largest k + offset of a search' },
  queryLengthMax: {
    name: 'MAX_QUERY_LENGTH', kind: 'integer', fallback: 1000, minimum: 1, maximum: 1_000_000,
    meaning: 'Characters of a natural-language query',
  },
  filterConditionsMax: {
    // Each is worked out over all items of a shard: a millisecond per million at worst.
    name: 'MAX_FILTER_CONDITIONS', kind: 'integer', fallback: 1_024, minimum: 1, maximum: 65_536,
    meaning: 'Conditions in one filter',
  },
  filterValuesMax: {
    // Each is one look-up in memory.
    name: 'MAX_FILTER_VALUES', kind: 'integer', fallback: 16_384, minimum: 1, maximum: 1_048_576,
    meaning: 'Values in all lists of `$in` and `$nin` of one filter together',
  },
  filterDepthMax: {
    // Evaluation is recursive, and nothing a person means needs more.
    name: 'MAX_FILTER_DEPTH', kind: 'integer', fallback: 32, minimum: 1, maximum: 64,
    meaning: 'Nesting of `$and`, `$or` and `$not` in one filter',
  },
  embeddingModel: {
    name: 'EMBEDDING_MODEL', kind: 'text', fallback: 'Xenova/all-MiniLM-L6-v2',
    meaning: 'Model that turns text into vectors: a transformers model name, a local folder, or `builtin`',
  },
  embeddingDtype: {
    name: 'EMBEDDING_DTYPE', kind: 'choice', fallback: 'auto',
    choices: ['auto', 'q8', 'fp32', 'int8', 'uint8', 'fp16', 'q4', 'bnb4', 'q4f16'],
    meaning: 'Number format of the model, that is, which of its files is used; `auto`: the first of these that it has',
  },
  embeddingCacheDir: {
    name: 'EMBEDDING_CACHE_DIR', kind: 'text', fallback: '',
    meaning: 'Folder that keeps fetched models; empty: `models` in DATA_DIR',
  },
  embeddingOffline: {
    name: 'EMBEDDING_OFFLINE', kind: 'choice', fallback: 'false', choices: ['false', 'true'],
    meaning: '`true`: models are never fetched, only taken from a local folder or EMBEDDING_CACHE_DIR',
  },
  embeddingHub: {
    name: 'EMBEDDING_HUB', kind: 'text', fallback: 'https://huggingface.co',
    meaning: 'Where models are fetched from: the hub or a mirror of it',
  },
  embeddingThreads: {
    name: 'EMBEDDING_THREADS', kind: 'integer', fallback: 'cores', minimum: 1, maximum: 64,
    meaning: 'Threads that embed, each with a copy of the model',
  },
  chunkSize: {
    name: 'CHUNK_SIZE', kind: 'integer', fallback: 500, minimum: 16, maximum: 1_000_000,
    meaning: "Characters of a document's chunk, at most",
  },
  chunkOverlap: {
    name: 'CHUNK_OVERLAP', kind: 'integer', fallback: 50, minimum: 0, maximum: 500_000,
    meaning: 'Characters that neighbouring chunks share, about; below CHUNK_SIZE',
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
  indexThreads: {
    name: 'INDEX_THREADS', kind: 'integer', fallback: 'cores', minimum: 1, maximum: 1024,
    meaning: 'Native threads that build indexes in the background',
  },
  logLevel: {
    name: 'LOG_LEVEL', kind: 'choice', fallback: 'info',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    meaning: 'Least level of the log',
  },
  requestTimeoutMs: {
    name: 'REQUEST_TIMEOUT_MS', kind: 'integer', fallback: 60_000, minimum: 100, maximum: 3_600_000,
    meaning: 'Longest that a call may take, in milliseconds',
  },
  shutdownTimeoutMs: {
    // Below the 30 s that Kubernetes gives a container between SIGTERM and SIGKILL.
    name: 'SHUTDOWN_TIMEOUT_MS', kind: 'integer', fallback: 25_000, minimum: 0, maximum: 3_600_000,
    meaning: 'Longest that a graceful stop may take before the process ends hard, in milliseconds',
  },
} as const satisfies Record<string, Setting>;

/** What a coordinator and a storage node of a cluster read besides, by the field of ClusterConfig. */
export const CLUSTER_SETTINGS = {
  etcdEndpoints: {
    name: 'ETCD_ENDPOINTS', kind: 'text', fallback: 'http://127.0.0.1:2379',
    meaning: 'etcd members, as `http://host:port` or `https://host:port`, separated by commas',
  },
  etcdUsername: { name: 'ETCD_USERNAME', kind: 'text', fallback: '', meaning: 'User of etcd; empty: none' },
  etcdPassword: { name: 'ETCD_PASSWORD', kind: 'secret', meaning: 'Its password' },
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
    meaning: 'gRPC port for other members; 0 takes a free one',
  },
  zone: { name: 'ZONE', kind: 'text', fallback: '', meaning: 'Zone of a storage node: replicas of a shard are spread over zones; empty: none' },
  clusterSecret: { name: 'CLUSTER_SECRET', kind: 'secret', meaning: 'Secret that members show each other; required, and the same for all' },
  tlsCaFile: { name: 'TLS_CA_FILE', kind: 'text', fallback: '', meaning: 'PEM file of the authority of the members\' certificates; with the next two, members speak mutual TLS' },
  tlsCertFile: { name: 'TLS_CERT_FILE', kind: 'text', fallback: '', meaning: 'PEM file of the certificate of this member' },
  tlsKeyFile: { name: 'TLS_KEY_FILE', kind: 'text', fallback: '', meaning: 'PEM file of its key' },
  tlsServerName: {
    name: 'TLS_SERVER_NAME', kind: 'text', fallback: '',
    meaning: 'Name that certificates of other members must be valid for; empty: the host of their address',
  },
  copyBytesPerSecond: {
    name: 'COPY_BYTES_PER_SECOND', kind: 'integer', fallback: 52_428_800, minimum: 65_536, maximum: 10_737_418_240,
    meaning: 'Most that a storage node sends of shards that are copied to others',
  },
} as const satisfies Record<string, Setting>;

/** Defaults that a storage node has otherwise than the table above, so that both roles can run on one host. */
export const NODE_FALLBACKS = { OPS_PORT: '9091' } as const;
