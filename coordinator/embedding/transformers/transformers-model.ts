import { EMBEDDED_CHARACTERS_MAX } from '../builtin-model';
import type { EmbeddingKind, EmbeddingModel } from '../embedding-provider';
import type { EmbeddingDispatcher } from './embedding-dispatcher';
import type { Prompts } from './prompts';

/** A transformers model: prefixes its texts as it was trained, and embeds them in worker threads. */
export class TransformersModel implements EmbeddingModel {
  readonly name: string;
  readonly dim: number;
  private readonly prompts: Prompts;
  private readonly dispatcher: Pick<EmbeddingDispatcher, 'embed' | 'close'>;

  constructor(options: { name: string; dim: number; prompts: Prompts; dispatcher: Pick<EmbeddingDispatcher, 'embed' | 'close'> }) {
    this.name = options.name;
    this.dim = options.dim;
    this.prompts = options.prompts;
    this.dispatcher = options.dispatcher;
  }

  /** Lone surrogates become U+FFFD; what the model could not read anyway is not sent to it. */
  embed(texts: string[], options: { kind: EmbeddingKind }): Promise<Float32Array[]> {
    const prompt = this.prompts[options.kind];
    return this.dispatcher.embed(texts.map((text) => prompt + text.slice(0, EMBEDDED_CHARACTERS_MAX).toWellFormed()), options.kind);
  }

  close(): Promise<void> {
    return this.dispatcher.close();
  }
}
