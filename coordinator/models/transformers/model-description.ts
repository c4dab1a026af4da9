import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { modelFailure } from './model-failure';
import { type ModelVariant, variantPath, wantedVariants } from './model-variant';
import type { PoolingMode } from './pooling';
import { poolsFirstToken, promptsOf, type Prompts } from './prompts';

/** What a worker has to know about a model to embed with it. */
export interface ModelDescription {
  /** The folder that holds config.json, tokenizer.json and onnx/. */
  folder: string;
  variant: ModelVariant;
  /** How many tokens of a text the model reads, including special tokens. */
  tokensMax: number;
  pooling: PoolingMode[];
  /** Whether vectors are scaled to unit length. */
  normalises: boolean;
  /**
   * Set if the model has a step after pooling (a Dense layer). Then its graph must output sentence_embedding itself.
   */
  needsSentenceEmbedding: boolean;
  prompts: Prompts;
}

type Json = Readonly<Record<string, unknown>>;

/** For models that state no limit. */
const TOKENS_FALLBACK = 512;
/** Tokenizers without a limit state a huge number. */
const TOKENS_SENSIBLE_MAX = 1_000_000;
/** Model types that number positions from the padding token's id + 1. */
const OFFSET_POSITIONS = new Set(['roberta', 'xlm-roberta', 'camembert', 'mpnet']);

/**
 * Reads a model's own description: config.json, tokenizer_config.json, and the files that sentence-transformers adds
 * (modules.json, 1_Pooling/config.json, sentence_bert_config.json, config_sentence_transformers.json). Without those:
 * mean pooling, unit length. Errors: embedding_unavailable, naming the file that is missing or broken.
 */
export async function describeModel(options: {
  name: string;
  folder: string;
  dtype: string;
}): Promise<ModelDescription> {
  const { name, folder, dtype } = options;
  const config = await requiredJson(folder, 'config.json');
  await requiredJson(folder, 'tokenizer.json');
  const tokenizer = await optionalJson(folder, 'tokenizer_config.json');
  const sentence = await optionalJson(folder, 'sentence_bert_config.json');
  const variant = wantedVariants(dtype).find((wanted) => existsSync(join(folder, variantPath(wanted))));
  if (variant === undefined) {
    throw modelFailure(
      `it has no ${dtype === 'auto' ? `${variantPath('q8')} or ${variantPath('fp32')}` : `${variantPath(wantedVariants(dtype)[0])} (EMBEDDING_DTYPE=${dtype})`}`,
    );
  }
  return {
    folder,
    variant,
    tokensMax: tokensMaxOf(config, tokenizer, sentence),
    ...(await modulesOf(name, folder)),
    prompts: promptsOf(name, await optionalJson(folder, 'config_sentence_transformers.json')),
  };
}

function tokensMaxOf(config: Json, tokenizer: Json | null, sentence: Json | null): number {
  const offset = OFFSET_POSITIONS.has(String(config.model_type)) ? Number(config.pad_token_id ?? 1) + 1 : 0;
  const positions =
    typeof config.max_position_embeddings === 'number' ? config.max_position_embeddings - offset : undefined;
  const limits = [positions, tokenizer?.model_max_length, sentence?.max_seq_length];
  const sensible = limits.filter(
    (limit): limit is number => typeof limit === 'number' && limit >= 1 && limit <= TOKENS_SENSIBLE_MAX,
  );
  return sensible.length === 0 ? TOKENS_FALLBACK : Math.min(...sensible);
}

/** modules.json lists the steps after the transformer. */
async function modulesOf(
  name: string,
  folder: string,
): Promise<Pick<ModelDescription, 'pooling' | 'normalises' | 'needsSentenceEmbedding'>> {
  const modules = await optionalJson(folder, 'modules.json');
  const steps = Array.isArray(modules) ? (modules as Json[]) : null;
  const isStep = (step: Json, kind: string): boolean => String(step.type).endsWith(`.${kind}`);
  const poolingPath = steps?.find((step) => isStep(step, 'Pooling'))?.path;
  const pooling = await optionalJson(
    folder,
    `${typeof poolingPath === 'string' ? poolingPath : '1_Pooling'}/config.json`,
  );
  return {
    pooling: pooling === null ? [poolsFirstToken(name) ? 'cls' : 'mean'] : poolingModes(pooling),
    normalises: steps === null || steps.some((step) => isStep(step, 'Normalize')),
    needsSentenceEmbedding:
      steps?.some((step) => !['Transformer', 'Pooling', 'Normalize'].some((kind) => isStep(step, kind))) ?? false,
  };
}

/** In the order in which sentence-transformers concatenates them. */
const POOLING_FLAGS: [string, PoolingMode][] = [
  ['pooling_mode_cls_token', 'cls'],
  ['pooling_mode_max_tokens', 'max'],
  ['pooling_mode_mean_tokens', 'mean'],
  ['pooling_mode_mean_sqrt_len_tokens', 'mean_sqrt_len'],
  ['pooling_mode_weightedmean_tokens', 'weighted_mean'],
  ['pooling_mode_lasttoken', 'last'],
];

function poolingModes(config: Json): PoolingMode[] {
  const modes = POOLING_FLAGS.filter(([flag]) => config[flag] === true).map(([, mode]) => mode);
  if (modes.length === 0) throw modelFailure('its 1_Pooling/config.json names no way of pooling that is known here');
  return modes;
}

async function requiredJson(folder: string, path: string): Promise<Json> {
  const content = await optionalJson(folder, path);
  if (content === null) throw modelFailure(`it has no ${path}`);
  return content;
}

async function optionalJson(folder: string, path: string): Promise<Json | null> {
  let text: string;
  try {
    text = await readFile(join(folder, path), 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code))) return null;
    throw modelFailure(`its ${path} can't be read`, error);
  }
  try {
    const content: unknown = JSON.parse(text);
    if (typeof content === 'object' && content !== null) return content as Json;
  } catch (error) {
    throw modelFailure(`its ${path} is not valid JSON`, error);
  }
  throw modelFailure(`its ${path} is not a JSON object`);
}
