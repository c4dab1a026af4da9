import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { QuiverError } from '../errors/quiver-error';

const NAME = /^[a-z][a-z0-9-]{0,31}$/;
/** It stands for the models of the service itself. */
const RESERVED = 'local';
const MODELS_MAX = 100;
const MODEL_CHARACTERS_MAX = 200;
const DIM_MAX = 65_536;
const GIB = 1024 ** 3;
const COUNT_MAX = Number.MAX_SAFE_INTEGER;

const modelName = z.string().min(1).max(MODEL_CHARACTERS_MAX);
const model = z.union([
  modelName.transform((name) => ({ name, dim: 0 })),
  z.strictObject({ name: modelName, dim: z.int().min(1).max(DIM_MAX) }),
]);
const provider = z.strictObject({
  url: z.string().refine(isBaseUrl, {
    error: 'must be the http or https address before /embeddings, without a user, a password and a fragment',
  }),
  key_file: z.string().min(1).optional(),
  models: z.array(model).min(1).max(MODELS_MAX),
  batch: z.int().min(1).max(2048).default(64),
  concurrency: z.int().min(1).max(64).default(4),
  requests_per_minute: z.int().min(0).max(1_000_000).default(0),
  tokens_per_day: z.int().min(0).max(COUNT_MAX).default(0),
  characters: z.int().min(100).max(1_000_000).default(24_576),
  timeout_seconds: z.int().min(1).max(600).default(60),
  cache_bytes: z
    .int()
    .min(0)
    .max(1024 * GIB)
    .default(GIB / 4),
  encoding: z.enum(['base64', 'float']).default('base64'),
});

/** A server of the OpenAI protocol, as EMBEDDING_PROVIDERS has it. */
export interface EmbeddingProviderSetting {
  name: string;
  /** Before /embeddings. */
  url: string;
  /** '': it needs no key. */
  keyFile: string;
  /** Those that collections may have; `dim`: 0: it is asked for. */
  models: { name: string; dim: number }[];
  /** Texts of a call. */
  batch: number;
  /** Calls at once. */
  concurrency: number;
  /** 0: any number. */
  requestsPerMinute: number;
  tokensPerDay: number;
  /** Code units of a text that are sent. */
  characters: number;
  /** Longest time of a call with all its attempts. */
  timeoutMs: number;
  /** Of each model on the disk; 0: nothing is kept. */
  cacheBytes: number;
  encoding: 'base64' | 'float';
}

/**
 * The providers of EMBEDDING_PROVIDERS, which is JSON or the path of a file with it. Errors: invalid_parameter, which
 * says what is wrong and where.
 */
export function embeddingProvidersIn(setting: string): EmbeddingProviderSetting[] {
  if (setting === '') return [];
  const json = jsonOf(setting);
  const found = z.record(z.string(), provider).safeParse(json);
  if (!found.success) {
    const [{ path, message }] = found.error.issues;
    throw refused(`${path.length === 0 ? '' : `${path.join('.')}: `}${message}`);
  }
  return Object.entries(found.data).map(([name, given]) => {
    if (!NAME.test(name) || name === RESERVED)
      throw refused(`${JSON.stringify(name)} is no name: lower case letters, digits and "-", and not ${RESERVED}`);
    const names = given.models.map((one) => one.name);
    const twice = names.find((one, i) => names.indexOf(one) < i);
    if (twice !== undefined) throw refused(`${name}.models has ${JSON.stringify(twice)} twice`);
    return {
      name,
      url: given.url,
      keyFile: given.key_file ?? '',
      models: given.models,
      batch: given.batch,
      concurrency: given.concurrency,
      requestsPerMinute: given.requests_per_minute,
      tokensPerDay: given.tokens_per_day,
      characters: given.characters,
      timeoutMs: given.timeout_seconds * 1000,
      cacheBytes: given.cache_bytes,
      encoding: given.encoding,
    };
  });
}

/** Whether it is the JSON itself, and not the path of a file. */
export function isProvidersJson(setting: string): boolean {
  return /^\s*\{/.test(setting);
}

function jsonOf(setting: string): unknown {
  let text = setting;
  if (!isProvidersJson(setting))
    try {
      text = readFileSync(setting, 'utf8');
    } catch (cause) {
      throw refused(`it is neither JSON nor a file that can be read: ${(cause as Error).message}`, cause);
    }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw refused('it is not JSON', cause);
  }
}

function refused(what: string, cause?: unknown): QuiverError {
  return new QuiverError('invalid_parameter', `EMBEDDING_PROVIDERS is not valid: ${what}`, { cause });
}

function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '' && hash === '';
}
