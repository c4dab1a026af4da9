import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import { inTime } from '../../../shared/base/time/deadline';
import { ModelShelf } from '../model-shelf';
import { CachingReranker } from './caching-reranker';
import type { Reranker, RerankOptions, RerankProvider } from './reranker';

/** A process that has models which this one does not. */
export interface RerankersElsewhere {
  id: string;
  models: readonly string[];
}

/** The rerank models of a process, by the names that requests give. None is loaded unless it is configured. */
export class Rerankers implements RerankProvider {
  private readonly shelf: ModelShelf<Reranker>;

  constructor(
    private readonly options: {
      /** The first is the default. */
      names: readonly string[];
      load: (name: string) => Promise<Reranker>;
      /** Other coordinators, for those who ask for what this one lacks. */
      elsewhere: () => readonly RerankersElsewhere[];
      /** Longest time in milliseconds that a call waits for a model that is loading; loading continues. */
      patienceMs: number;
      clock: Clock;
      log: Pick<Logger, 'error'>;
    },
  ) {
    const { load, clock } = options;
    this.shelf = new ModelShelf({
      what: 'rerank model',
      load: async (name) => new CachingReranker(await load(name)),
      clock,
    });
  }

  get names(): readonly string[] {
    return this.options.names;
  }

  /** Loads all of them; what can't be loaded is told in the log, and tried again when it is asked for. */
  async open(): Promise<void> {
    // One after the other: several may be made of the same files, which are fetched into one folder.
    for (const name of this.names)
      await this.shelf
        .open(name)
        .catch((error: unknown) => this.options.log.error({ model: name, error }, 'a rerank model is not there'));
  }

  async modelOf(asked: string | undefined): Promise<string> {
    const { names } = this;
    const name = asked ?? names[0];
    if (name !== undefined && names.includes(name)) return name;
    throw new QuiverError('invalid_parameter', [this.whatIsHere(asked), ...this.whatIsElsewhere(asked)].join('; '));
  }

  async score(
    model: string,
    query: string,
    texts: readonly string[],
    options: RerankOptions = {},
  ): Promise<(number | undefined)[]> {
    const late = (): QuiverError =>
      new QuiverError('unavailable', `The rerank model "${model}" is still being loaded; the call may be retried`);
    const reranker = await inTime(this.shelf.open(model), this.options.patienceMs, late);
    return reranker.score(query, texts, options);
  }

  close(): Promise<void> {
    return this.shelf.close();
  }

  private whatIsHere(asked: string | undefined): string {
    const { names } = this;
    if (names.length === 0) return 'this server has no rerank model: RERANK_MODEL is not set';
    return `there is no rerank model ${JSON.stringify(asked)}; there are: ${names.join(', ')}`;
  }

  private whatIsElsewhere(asked: string | undefined): string[] {
    const others = this.options
      .elsewhere()
      .filter(({ models }) => (asked === undefined ? models.length > 0 : models.includes(asked)));
    if (others.length === 0) return [];
    return [`coordinators that have ${asked === undefined ? 'one' : 'it'}: ${others.map(({ id }) => id).join(', ')}`];
  }
}
