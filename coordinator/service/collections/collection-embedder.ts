import assert from 'node:assert';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { CollectionEmbedding, ModelChoice } from '../../models/collection-embedding';
import type { CutText } from '../../models/cut-text';
import type { EmbeddingModel, EmbeddingProvider, EmbedOptions, TextLengths } from '../../models/embedding-provider';
import { collectionNotFound } from '../routing/collection-not-found';
import { mustHaveSameVectors } from '../routing/shard-sets';
import type { CollectionCatalog } from './collection-catalog';
import type { CollectionRecord } from './collection-record';

/** Vectors of texts. */
export interface TextVectors {
  vectors: Float32Array[];
  /** Texts that are longer than the model reads. */
  cut: readonly CutText[];
}

/** Vectors of texts that are to be stored. */
export interface PassageVectors extends TextVectors {
  /** The model that made them, where the collection has none yet: it has to be settled before they are stored. */
  unsettled: string | null;
}

/**
 * Turns texts into vectors of a collection, always with the same model: the one of its `embedding`, or else that of its
 * first stored text. Before there is one, a query is embedded with the default model, and nothing is recorded. Errors:
 * dimension_mismatch (naming both dimensions and the model), embedding_unavailable; remodelled.
 */
export class CollectionEmbedder {
  private readonly catalog: CollectionCatalog;
  private readonly provider: EmbeddingProvider;

  constructor(options: { catalog: CollectionCatalog; provider: EmbeddingProvider }) {
    this.catalog = options.catalog;
    this.provider = options.provider;
  }

  /** What makes the vectors of its texts. Errors: embedding_unavailable, unavailable. */
  modelFor(collection: ModelChoice): Promise<EmbeddingModel> {
    return this.provider.modelFor(collection);
  }

  /**
   * The dimension of a collection that is to be made, which its model decides. Errors: dimension_mismatch when it asks
   * for another; invalid_parameter; those of the model.
   */
  async dimensionOf({ dim, embedding }: { dim?: number | undefined; embedding: CollectionEmbedding }): Promise<number> {
    const made = await this.provider.dimensionOf(embedding);
    if (made === null && dim === undefined)
      throw new QuiverError('invalid_parameter', `dim is required: ${embedding.model} makes vectors of any`);
    if (made !== null && dim !== undefined && dim !== made)
      throw new QuiverError(
        'dimension_mismatch',
        `dimension mismatch: dim is ${dim}, but embedding.model ${embedding.model} makes vectors of dimension ${made}`,
        { details: { expected: made, actual: dim } },
      );
    return made ?? dim!;
  }

  /** Vectors to search with. */
  async embedQueries(collection: CollectionRecord, texts: string[]): Promise<TextVectors> {
    return embed(await this.modelFor(collection), collection, texts, { kind: 'query' });
  }

  /** Vectors to store. It records nothing: they may be refused. `isOfJob`: nobody waits for them. */
  async embedPassages(
    collection: CollectionRecord,
    texts: string[],
    { isOfJob }: Pick<EmbedOptions, 'isOfJob'> = {},
  ): Promise<PassageVectors> {
    const model = await this.modelFor(collection);
    const { vectors, cut } = await embed(model, collection, texts, { kind: 'passage', isOfJob });
    return { vectors, cut, unsettled: collection.embeddingModel === null ? model.name : null };
  }

  /**
   * Makes `model` that of the collection, before the first vectors of it are stored: later, there could be some of two
   * models. Of several calls at once one wins; the others get the vectors of their texts by its model, and store those.
   * null: this one has won.
   */
  async settle(collection: CollectionRecord, model: string, texts: string[]): Promise<Float32Array[] | null> {
    const recorded = await this.record(collection, model);
    return recorded === model
      ? null
      : (await embed(await this.provider.model(recorded), collection, texts, { kind: 'passage' })).vectors;
  }

  /**
   * How much of what its model reads passages take; null: nothing is known, or they can't be embedded at all. Errors:
   * as of the model.
   */
  async measure(collection: CollectionRecord, texts: string[]): Promise<TextLengths | null> {
    const model = await this.modelFor(collection);
    if (model.measure === undefined || (model.dim !== null && model.dim !== collection.dim)) return null;
    return model.measure(texts);
  }

  /** Records the model if the collection has none; answers the one in force. */
  private async record(collection: CollectionRecord, model: string): Promise<string> {
    const record = await this.catalog.update(collection.name, (current) => {
      if (current.identity !== collection.identity) throw collectionNotFound(collection.name);
      mustHaveSameVectors(collection, current);
      return current.embeddingModel === null ? { ...current, embeddingModel: model } : current;
    });
    assert(record.embeddingModel !== null);
    return record.embeddingModel;
  }
}

async function embed(
  model: EmbeddingModel,
  collection: CollectionRecord,
  texts: string[],
  options: Pick<EmbedOptions, 'kind' | 'isOfJob'>,
): Promise<TextVectors> {
  if (model.dim !== null && model.dim !== collection.dim) {
    throw new QuiverError(
      'dimension_mismatch',
      `dimension mismatch: collection "${collection.name}" has dimension ${collection.dim}, but the embedding model ${model.name} makes vectors of dimension ${model.dim}; give vectors, or make a collection with dim ${model.dim} for texts`,
      { details: { collection: collection.name, expected: collection.dim, actual: model.dim, model: model.name } },
    );
  }
  const cut: CutText[] = [];
  const vectors = await model.embed(texts, { ...options, dim: collection.dim, onCut: (one) => cut.push(one) });
  assert(
    vectors.length === texts.length && vectors.every((vector) => vector.length === collection.dim),
    `${model.name} does not keep its shape`,
  );
  return { vectors, cut: cut.sort((a, b) => a.index - b.index) };
}
