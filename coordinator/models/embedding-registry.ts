import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import type { Logger } from '../../shared/base/logs/logger';
import type { Clock } from '../../shared/base/time/clock';
import { inTime } from '../../shared/base/time/deadline';
import { BUILTIN_MODEL, BuiltinModel } from './builtin-model';
import { CachingModel } from './caching-model';
import {
  type CollectionEmbedding,
  embeddingKey,
  type ModelChoice,
  type ModelDtype,
  modelNameOf,
  modelParts,
} from './collection-embedding';
import { CollectionModel } from './collection-model';
import type { EmbeddingModel, EmbeddingProvider, EmbeddingStatus } from './embedding-provider';
import { ModelShelf } from './model-shelf';

/**
 * Opens a model by name: from a local folder, a cache, or the network. `dtype`: default: EMBEDDING_DTYPE. Rejects if it
 * can't. The message of a QuiverError is shown to clients as the reason; any other error is only logged.
 */
export type EmbeddingModelLoader = (name: string, dtype?: ModelDtype) => Promise<EmbeddingModel>;

/** Models of providers. */
export interface RemoteModels {
  /** What collections may name. */
  names: readonly string[];
  /** Errors: embedding_unavailable; overloaded, rate_limited, unavailable. */
  model(provider: string, model: string): Promise<EmbeddingModel>;
  /** Of the vectors that it makes now. Errors: as model. */
  dimensionOf(provider: string, model: string): Promise<number>;
  close(): Promise<void>;
}

const NO_PROVIDERS: RemoteModels = {
  names: [],
  model: async (provider, model) => {
    throw new QuiverError(
      'embedding_unavailable',
      `"${provider}:${model}" is of an embedding provider that this server lacks: EMBEDDING_PROVIDERS is not set`,
    );
  },
  dimensionOf: (provider, model) => NO_PROVIDERS.model(provider, model).then(() => 0),
  close: async () => undefined,
};

export interface EmbeddingRegistryOptions {
  /** The configured model, EMBEDDING_MODEL. */
  configured: string;
  /** Opens every model but `builtin`; null if there is none. */
  loader: EmbeddingModelLoader | null;
  /** Local models that collections may name besides, EMBEDDING_MODELS. */
  others?: readonly string[];
  /** Default: there are none. */
  remote?: RemoteModels;
  log: Pick<Logger, 'warn'>;
  clock: Clock;
  /** Longest time in milliseconds that a call waits for a model that is loading; loading continues. */
  patienceMs: number;
}

/**
 * The models of a process. Each is loaded once, at its first use, however many calls ask at the same time. When the
 * configured model can't be loaded, new collections get `builtin` (with one warning in the log); the model that a
 * collection has recorded is never replaced. If a later attempt succeeds, new collections get the configured model
 * again.
 */
export class EmbeddingRegistry implements EmbeddingProvider {
  private readonly builtin = new BuiltinModel();
  private readonly remote: RemoteModels;
  private readonly shelf: ModelShelf<EmbeddingModel>;
  /** Of the models that were loaded. */
  private readonly dims = new Map<string, number | null>();
  /** Files of models that a collection asks for, by the names that the shelf has for them. */
  private readonly files = new Map<string, { name: string; dtype: ModelDtype }>();
  private readonly cachedRemote = new WeakMap<EmbeddingModel, EmbeddingModel>();
  private readonly ofCollections = new Map<string, Promise<EmbeddingModel>>();
  private hasWarned = false;

  constructor(private readonly options: EmbeddingRegistryOptions) {
    this.remote = options.remote ?? NO_PROVIDERS;
    const { loader, clock } = options;
    const load = async (name: string): Promise<EmbeddingModel> => {
      if (loader === null) throw new QuiverError('embedding_unavailable', 'this version has no loader for it');
      const { name: files = name, dtype } = this.files.get(name) ?? {};
      const model = new CachingModel(await loader(files, dtype));
      this.dims.set(name, model.dim);
      return model;
    };
    this.shelf = new ModelShelf({ what: 'embedding model', load, clock });
  }

  /**
   * Waits for the first attempt as long as it makes progress: a process is not ready before. Later attempts run in the
   * background, and calls get `builtin` meanwhile.
   */
  async defaultModel(): Promise<EmbeddingModel> {
    const { configured } = this.options;
    const hasFailed = this.shelf.failureOf(configured) !== undefined;
    const opening = this.open(configured);
    try {
      if (!hasFailed) return await opening;
      const opened = await Promise.race([opening, new Promise<null>((resolve) => setImmediate(resolve, null))]);
      if (opened !== null) return opened;
      opening.catch(() => undefined);
    } catch (error) {
      this.warnOnce(error);
    }
    return this.builtin;
  }

  async model(name: string): Promise<EmbeddingModel> {
    const late = (): QuiverError =>
      new QuiverError('unavailable', `The embedding model "${name}" is still being loaded; the call may be retried`, {
        details: { model: name },
      });
    return inTime(this.open(name), this.options.patienceMs, late);
  }

  async modelFor({ embeddingModel, embedding }: ModelChoice): Promise<EmbeddingModel> {
    if (embedding === undefined) return embeddingModel === null ? this.defaultModel() : this.model(embeddingModel);
    const key = embeddingKey(embedding);
    const known = this.ofCollections.get(key);
    if (known !== undefined) return known;
    const made = this.made(embedding);
    this.ofCollections.set(key, made);
    // What can't be had now is asked for again.
    made.catch(() => this.ofCollections.delete(key));
    return made;
  }

  async dimensionOf(embedding: CollectionEmbedding): Promise<number | null> {
    const { model, dtype, truncateDim } = embedding;
    const { models } = this;
    if (!models.includes(model))
      throw new QuiverError(
        'invalid_parameter',
        `embedding.model ${JSON.stringify(model)} is none that collections may have; there are: ${models.join(', ')}`,
      );
    const name = modelNameOf(embedding);
    const { provider, name: own } = modelParts(model)!;
    if (dtype !== undefined && (provider !== null || name === BUILTIN_MODEL))
      throw new QuiverError('invalid_parameter', `embedding.dtype is not for ${model}, which has no files`);
    const { dim } =
      provider === null ? await this.modelOf(embedding) : { dim: await this.remote.dimensionOf(provider, own) };
    if (truncateDim === undefined) return dim;
    if (dim === null)
      throw new QuiverError('invalid_parameter', `embedding.truncate_dim is not for ${model}, which fits any dim`);
    if (truncateDim > dim)
      throw new QuiverError(
        'invalid_parameter',
        `embedding.truncate_dim is ${truncateDim}, and ${model} makes vectors of ${dim}`,
      );
    return truncateDim;
  }

  /** Closes every model that was opened; for the end of the process. */
  async close(): Promise<void> {
    await Promise.all([this.shelf.close(), this.remote.close()]);
  }

  status(): EmbeddingStatus {
    const { configured } = this.options;
    const failure = this.shelf.failureOf(configured);
    const { models } = this;
    if (failure === undefined)
      return { configured, active: configured, fallbackReason: null, dim: this.dims.get(configured) ?? null, models };
    return { configured, active: BUILTIN_MODEL, fallbackReason: failure.message, dim: null, models };
  }

  /** What `embedding.model` may be. */
  private get models(): string[] {
    const { configured, others = [] } = this.options;
    const local = [...new Set([configured, ...others, BUILTIN_MODEL])].map((name) => `local:${name}`);
    return [...local, ...this.remote.names];
  }

  private async made(embedding: CollectionEmbedding): Promise<EmbeddingModel> {
    const name = modelNameOf(embedding);
    return new CollectionModel(name, await this.modelOf(embedding), embedding);
  }

  private async remoteModel(provider: string, name: string): Promise<EmbeddingModel> {
    const model = await this.remote.model(provider, name);
    const known = this.cachedRemote.get(model);
    if (known !== undefined) return known;
    const cached = new CachingModel(model);
    this.cachedRemote.set(model, cached);
    return cached;
  }

  private modelOf({ model, dtype }: CollectionEmbedding): Promise<EmbeddingModel> {
    const { provider, name } = modelParts(model) ?? { provider: null, name: model };
    if (provider !== null) return this.remoteModel(provider, name);
    if (dtype === undefined) return this.model(name);
    const shelved = `${name} as ${dtype}`;
    this.files.set(shelved, { name, dtype });
    return this.model(shelved);
  }

  private open(name: string): Promise<EmbeddingModel> {
    return name === BUILTIN_MODEL ? Promise.resolve(this.builtin) : this.shelf.open(name);
  }

  private warnOnce(error: unknown): void {
    if (this.hasWarned) return;
    this.hasWarned = true;
    this.options.log.warn(
      { configured: this.options.configured, active: BUILTIN_MODEL, ...whatIsKnown(error) },
      `EMBEDDING MODEL "${this.options.configured}" CAN'T BE LOADED: new collections use "builtin", which compares words, not meaning. Set EMBEDDING_MODEL=builtin to silence this.`,
    );
  }
}

/**
 * Of a failure that its message explains, no stack says more; what the system said of it does. Of a fault of this
 * program, all of it.
 */
function whatIsKnown(error: unknown): Record<string, unknown> {
  const { message, cause } = error as Error;
  if (cause !== undefined && !isQuiverError(cause)) return { error };
  let last: unknown = cause;
  while (last instanceof Error && last.cause instanceof Error) last = last.cause;
  return last instanceof Error && !message.endsWith(last.message)
    ? { reason: message, cause: last.message }
    : { reason: message };
}
