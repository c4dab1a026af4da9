import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import type { Clock } from '../../shared/base/time/clock';

/**
 * A model that could not be loaded is tried again only after this long: each attempt may mean a download that times
 * out.
 */
const RETRY_AFTER_MS = 60_000;

/** Models by name. Each is loaded once, at its first use, however many calls ask at the same time. */
export class ModelShelf<Model extends { close?(): Promise<void> }> {
  private readonly models = new Map<string, Promise<Model>>();
  private readonly failures = new Map<string, { error: QuiverError; atMs: number }>();

  /** `what` they are called in messages. The message of a QuiverError of `load` is shown to clients as the reason. */
  constructor(
    private readonly options: {
      what: string;
      load: (name: string) => Promise<Model>;
      clock: Pick<Clock, 'monotonicMs'>;
    },
  ) {}

  /** Errors: embedding_unavailable. */
  open(name: string): Promise<Model> {
    const known = this.models.get(name);
    if (known !== undefined) return known;
    const failure = this.failures.get(name);
    if (failure !== undefined && this.options.clock.monotonicMs() - failure.atMs < RETRY_AFTER_MS)
      return Promise.reject(failure.error);
    const loading = this.load(name);
    this.models.set(name, loading);
    return loading;
  }

  /** Why the last attempt failed; undefined: it did not, or there was none. */
  failureOf(name: string): QuiverError | undefined {
    return this.failures.get(name)?.error;
  }

  /** Closes every model that was opened; for the end of the process. */
  async close(): Promise<void> {
    await Promise.all([...this.models.values()].map(async (loading) => (await loading.catch(() => null))?.close?.()));
  }

  private async load(name: string): Promise<Model> {
    const { what, load, clock } = this.options;
    try {
      const model = await load(name);
      this.failures.delete(name);
      return model;
    } catch (cause) {
      const reason = isQuiverError(cause) ? `: ${cause.message}` : '';
      const error = new QuiverError('embedding_unavailable', `The ${what} "${name}" can't be loaded${reason}`, {
        cause,
        details: { model: name },
      });
      this.failures.set(name, { error, atMs: clock.monotonicMs() });
      this.models.delete(name);
      throw error;
    }
  }
}
