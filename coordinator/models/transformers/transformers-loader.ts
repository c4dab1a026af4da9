import { EMBEDDED_CHARACTERS_MAX } from '../builtin-model';
import type { EmbeddingKind, EmbeddingModel, EmbedOptions, TextLengths } from '../embedding-provider';
import type { EmbeddingModelLoader } from '../embedding-registry';
import { EmbeddingDispatcher } from './embedding-dispatcher';
import { EmbeddingThread } from './embedding-thread';
import { ModelSource, type ModelSourceOptions, startedThreads } from './model-source';
import type { Prompts } from './prompts';
import { laneOf } from './text-queue';

export interface TransformersOptions extends ModelSourceOptions {
  /** Number of worker threads, each with a copy of the model and one native thread. */
  threads: number;
  /** Longest time of a call. */
  timeoutMs: number;
  /** The worker's file, if it is not the compiled one. */
  workerFile?: string;
}

/**
 * Opens transformers models: a local folder if there is one of that name, otherwise a model of the hub. The first
 * worker shows whether the model works at all; the others start after it.
 */
export function transformersLoader(options: TransformersOptions): EmbeddingModelLoader {
  const { clock, log } = options;
  const source = new ModelSource(options);
  return async (name, dtype) => {
    const startedMs = clock.monotonicMs();
    const found = await source.find(name, dtype);
    const { description } = found;
    const start = (): Promise<EmbeddingThread> => EmbeddingThread.start(description, options.workerFile);
    const runners = await startedThreads({ ...options, ...found, name, start });
    const [first] = runners;
    const { timeoutMs } = options;
    const dispatcher = new EmbeddingDispatcher({ runners, restart: start, timeoutMs, log, jobsYield: true });
    const facts = {
      model: name,
      dim: first.dim,
      dtype: description.variant,
      tokensMax: description.tokensMax,
      pooling: description.pooling,
      batches: first.isInvariant,
      threads: runners.length,
    };
    log.info({ ...facts, tookMs: Math.round(clock.monotonicMs() - startedMs) }, 'embedding model ready');
    return new TransformersModel({
      name,
      dim: first.dim,
      tokensMax: description.tokensMax,
      prompts: description.prompts,
      dispatcher,
    });
  };
}

/** A transformers model: puts the prefixes of its training before texts, and embeds them in worker threads. */
class TransformersModel implements EmbeddingModel {
  readonly name: string;
  readonly dim: number;
  private readonly tokensMax: number;
  private readonly prompts: Prompts;
  private readonly dispatcher: Pick<EmbeddingDispatcher, 'embed' | 'measure' | 'close'>;

  constructor(options: {
    name: string;
    dim: number;
    tokensMax: number;
    prompts: Prompts;
    dispatcher: Pick<EmbeddingDispatcher, 'embed' | 'measure' | 'close'>;
  }) {
    this.name = options.name;
    this.dim = options.dim;
    this.tokensMax = options.tokensMax;
    this.prompts = options.prompts;
    this.dispatcher = options.dispatcher;
  }

  /** Lone surrogates become U+FFFD. Text beyond what the model reads is not sent to it. */
  embed(
    texts: string[],
    { kind, prefix, isOfJob, onCut }: Pick<EmbedOptions, 'kind' | 'prefix' | 'isOfJob' | 'onCut'>,
  ): Promise<Float32Array[]> {
    const sent = texts.map((text) => this.sentOf(text, kind, prefix));
    return this.dispatcher.embed(sent, laneOf({ kind, isOfJob }), (index, left) =>
      onCut?.({
        index,
        read: this.tokensMax,
        left,
        unit: 'tokens',
        isMore: texts[index].length > EMBEDDED_CHARACTERS_MAX,
      }),
    );
  }

  async measure(texts: string[], prefix?: string): Promise<TextLengths> {
    return {
      lengths: await this.dispatcher.measure(texts.map((text) => this.sentOf(text, 'passage', prefix))),
      most: this.tokensMax,
    };
  }

  private sentOf(text: string, kind: EmbeddingKind, prefix = this.prompts[kind]): string {
    return prefix + text.slice(0, EMBEDDED_CHARACTERS_MAX).toWellFormed();
  }

  close(): Promise<void> {
    return this.dispatcher.close();
  }
}
