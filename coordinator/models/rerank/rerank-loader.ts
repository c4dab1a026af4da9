import type { RerankModelSetting } from '../../../shared/base/config/rerank-models';
import { EmbeddingThread } from '../transformers/embedding-thread';
import { ModelSource, startedThreads } from '../transformers/model-source';
import type { TransformersOptions } from '../transformers/transformers-loader';
import { PairDispatcher, type PairRunner } from './pair-dispatcher';
import type { PairScorerKind } from './pair-scorer';
import { RemoteRunner } from './remote-runner';
import type { Reranker } from './reranker';

export interface RerankLoaderOptions extends TransformersOptions {
  /** By the names that requests give. */
  models: readonly RerankModelSetting[];
  /** Sent to remote servers; '': nothing is. */
  apiKey: string;
}

/** Opens the models of a setting by name. Errors: embedding_unavailable. */
export function rerankLoader(options: RerankLoaderOptions): (name: string) => Promise<Reranker> {
  const source = new ModelSource(options);
  return async (name) => {
    const model = options.models.find((one) => one.name === name)!;
    const { runners, restart } =
      model.kind === 'tei' || model.kind === 'cohere'
        ? remoteRunners(model, model.kind, options)
        : await localRunners(source, model, model.kind, options);
    const { timeoutMs, log } = options;
    const dispatcher = new PairDispatcher({ runners, restart, timeoutMs, log });
    return {
      score: (query, texts, { budgetMs } = {}) => dispatcher.score(query.toWellFormed(), texts, budgetMs),
      close: () => dispatcher.close(),
    };
  };
}

interface Runners {
  runners: PairRunner[];
  restart: () => Promise<PairRunner>;
}

/** Workers of its own, so that embedding never waits for reranking, nor reranking for embedding. */
async function localRunners(
  source: ModelSource,
  { name, model }: RerankModelSetting,
  kind: PairScorerKind,
  options: RerankLoaderOptions,
): Promise<Runners> {
  const { clock, log } = options;
  const startedMs = clock.monotonicMs();
  const found = await source.find(model);
  const start = (): Promise<EmbeddingThread> => EmbeddingThread.start(found.description, options.workerFile, kind);
  const runners = await startedThreads({ ...options, ...found, name, start });
  log.info(
    {
      model: name,
      kind,
      dtype: found.description.variant,
      tokensMax: found.description.tokensMax,
      threads: runners.length,
      tookMs: Math.round(clock.monotonicMs() - startedMs),
    },
    'rerank model ready',
  );
  return { runners, restart: start };
}

function remoteRunners(
  { name, model: url, remoteModel }: RerankModelSetting,
  form: 'tei' | 'cohere',
  { threads, apiKey, timeoutMs }: RerankLoaderOptions,
): Runners {
  const start = (): PairRunner =>
    new RemoteRunner({ name, remote: { form, url, model: remoteModel }, apiKey, timeoutMs });
  return { runners: Array.from({ length: threads }, start), restart: async () => start() };
}
