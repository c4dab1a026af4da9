import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import type { Logger } from '../../shared/base/logs/logger';
import type { Clock } from '../../shared/base/time/clock';
import { inTime } from '../../shared/base/time/deadline';
import { BUILTIN_MODEL, BuiltinModel } from './builtin-model';
import { CachingModel } from './caching-model';
import type { EmbeddingModel, EmbeddingProvider, EmbeddingStatus } from './embedding-provider';
import { ModelShelf } from './model-shelf';

/**
 * Opens a model by name: from a local folder, a cache, or the network. Rejects if it can't. The message of a
 * QuiverError is shown to clients as the reason; any other error is only logged.
 */
export type EmbeddingModelLoader = (name: string) => Promise<EmbeddingModel>;

export interface EmbeddingRegistryOptions {
  /** The configured model, EMBEDDING_MODEL. */
  configured: string;
  /** Opens every model but `builtin`; null if there is none. */
  loader: EmbeddingModelLoader | null;
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
  private readonly shelf: ModelShelf<EmbeddingModel>;
  /** Of the models that were loaded. */
  private readonly dims = new Map<string, number | null>();
  private hasWarned = false;

  constructor(private readonly options: EmbeddingRegistryOptions) {
    const { loader, clock } = options;
    const load = async (name: string): Promise<EmbeddingModel> => {
      if (loader === null) throw new QuiverError('embedding_unavailable', 'this version has no loader for it');
      const model = new CachingModel(await loader(name));
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

  /** Closes every model that was opened; for the end of the process. */
  close(): Promise<void> {
    return this.shelf.close();
  }

  status(): EmbeddingStatus {
    const { configured } = this.options;
    const failure = this.shelf.failureOf(configured);
    if (failure === undefined)
      return { configured, active: configured, fallbackReason: null, dim: this.dims.get(configured) ?? null };
    return { configured, active: BUILTIN_MODEL, fallbackReason: failure.message, dim: null };
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
