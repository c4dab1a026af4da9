import type { CollectionEmbedding } from './collection-embedding';
import type { EmbeddingModel, EmbedOptions, TextLengths } from './embedding-provider';
import { modelFailure } from './transformers/model-failure';

/** A model as a collection wants it: with prefixes of its own, and vectors cut to the length that it has. */
export class CollectionModel implements EmbeddingModel {
  readonly measure?: (texts: string[]) => Promise<TextLengths>;

  constructor(
    readonly name: string,
    private readonly model: EmbeddingModel,
    private readonly embedding: Omit<CollectionEmbedding, 'model'>,
  ) {
    const { passagePrefix } = embedding;
    if (model.measure !== undefined) this.measure = (texts) => model.measure!(texts, passagePrefix);
  }

  get dim(): number | null {
    return this.embedding.truncateDim ?? this.model.dim;
  }

  async embed(texts: string[], { dim, kind, ...options }: EmbedOptions): Promise<Float32Array[]> {
    const { queryPrefix, passagePrefix, truncateDim } = this.embedding;
    const prefix = kind === 'query' ? queryPrefix : passagePrefix;
    const whole = await this.model.embed(texts, { ...options, dim: this.model.dim ?? dim, kind, prefix });
    return truncateDim === undefined ? whole : whole.map((vector) => this.cut(vector, truncateDim));
  }

  private cut(vector: Float32Array, dim: number): Float32Array {
    if (vector.length < dim)
      throw modelFailure(
        `The embedding model "${this.name}" makes vectors of ${vector.length} numbers, not of ${dim} or more`,
      );
    const cut = vector.slice(0, dim);
    let square = 0;
    for (const value of cut) square += value * value;
    const length = Math.sqrt(square);
    // A vector without a direction stays as it is.
    if (length > 0) for (let i = 0; i < dim; i++) cut[i] /= length;
    return cut;
  }
}
