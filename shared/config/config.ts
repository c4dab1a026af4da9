import { QuiverError } from '../errors/quiver-error';

/**
 * The configuration of a process: what the environment says, checked once at start and complete afterwards.
 * Every variable is part of the public interface (README, "Configuration").
 */
export interface Config {
  port: number;
  host: string;
  opsPort: number;
  dataDir: string;
  apiKey: string | undefined;
  /** Requests per minute and key; 0 is unlimited. */
  rateLimitPerMinute: number;
  batchItemsMax: number;
  bodyBytesMax: number;
  uploadBytesMax: number;
  metadataBytesMax: number;
  vectorDimMax: number;
  kMax: number;
  queryLengthMax: number;
  embeddingModel: string;
  /** Characters per chunk and shared between neighbours. */
  chunkSize: number;
  chunkOverlap: number;
  recallTarget: number;
  /** Defaults for new collections. */
  defaultShards: number;
  defaultReplicas: number;
  /** Native threads that build graphs in the background. */
  indexThreads: number;
  logLevel: string;
  /** Longest a client call may take inside, in milliseconds. */
  requestTimeoutMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A configuration error: one clear line that names the variable. */
function refuse(name: string, value: string, expected: string): never {
  throw new QuiverError('invalid_parameter', `${name}=${JSON.stringify(value)} is not valid: expected ${expected}`);
}

function integer(environment: Environment, name: string, fallback: number, minimum: number, maximum: number): number {
  const value = environment[name];
  if (value === undefined || value === '') return fallback;
  const expected = `an integer from ${minimum} to ${maximum}`;
  if (!/^-?\d{1,15}$/.test(value.trim())) refuse(name, value, expected);
  const number = Number(value);
  if (number < minimum || number > maximum) refuse(name, value, expected);
  return number;
}

function fraction(environment: Environment, name: string, fallback: number, minimum: number, maximum: number): number {
  const value = environment[name];
  if (value === undefined || value === '') return fallback;
  const number = Number(value);
  if (!Number.isFinite(number) || number < minimum || number > maximum) refuse(name, value, `a number from ${minimum} to ${maximum}`);
  return number;
}

function text(environment: Environment, name: string, fallback: string): string {
  const value = environment[name];
  return value === undefined || value === '' ? fallback : value;
}

function choice(environment: Environment, name: string, fallback: string, choices: readonly string[]): string {
  const value = text(environment, name, fallback);
  if (!choices.includes(value)) refuse(name, value, `one of ${choices.join(', ')}`);
  return value;
}

/**
 * Reads and checks the environment. `cores` is how many processors the process may use.
 * Throws QuiverError `invalid_parameter` with a one-line message for the first bad value.
 */
export function readConfig(environment: Environment, cores: number): Config {
  const config: Config = {
    port: integer(environment, 'PORT', 8000, 0, 65535),
    host: text(environment, 'HOST', '0.0.0.0'),
    opsPort: integer(environment, 'OPS_PORT', 9090, 0, 65535),
    dataDir: text(environment, 'DATA_DIR', 'data'),
    apiKey: environment.API_KEY === undefined || environment.API_KEY === '' ? undefined : environment.API_KEY,
    rateLimitPerMinute: integer(environment, 'RATE_LIMIT_PER_MINUTE', 100, 0, 1_000_000_000),
    batchItemsMax: integer(environment, 'MAX_BATCH_SIZE', 1000, 1, 1_000_000),
    bodyBytesMax: integer(environment, 'MAX_BODY_BYTES', 67_108_864, 1024, 1_073_741_824),
    uploadBytesMax: integer(environment, 'MAX_UPLOAD_BYTES', 26_214_400, 1, 1_073_741_824),
    metadataBytesMax: integer(environment, 'MAX_METADATA_BYTES', 65_536, 2, 16_777_216),
    vectorDimMax: integer(environment, 'MAX_VECTOR_DIM', 16_384, 1, 65_536),
    kMax: integer(environment, 'MAX_K', 10_000, 1, 1_000_000),
    queryLengthMax: integer(environment, 'MAX_QUERY_LENGTH', 1000, 1, 1_000_000),
    embeddingModel: text(environment, 'EMBEDDING_MODEL', 'Xenova/all-MiniLM-L6-v2'),
    chunkSize: integer(environment, 'CHUNK_SIZE', 500, 16, 1_000_000),
    chunkOverlap: integer(environment, 'CHUNK_OVERLAP', 50, 0, 500_000),
    recallTarget: fraction(environment, 'RECALL_TARGET', 0.99, 0.5, 0.9999),
    defaultShards: integer(environment, 'DEFAULT_SHARDS', 1, 1, 256),
    defaultReplicas: integer(environment, 'DEFAULT_REPLICAS', 1, 1, 5),
    indexThreads: integer(environment, 'INDEX_THREADS', Math.max(1, cores), 1, 1024),
    logLevel: choice(environment, 'LOG_LEVEL', 'info', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    requestTimeoutMs: integer(environment, 'REQUEST_TIMEOUT_MS', 60_000, 100, 3_600_000),
  };
  if (config.chunkOverlap >= config.chunkSize) {
    refuse('CHUNK_OVERLAP', String(config.chunkOverlap), `an integer below CHUNK_SIZE (${config.chunkSize})`);
  }
  return config;
}
