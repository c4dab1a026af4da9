import type { CollectionEmbedding, ModelChoice } from './collection-embedding';
import type { CutText } from './cut-text';

/** What a text is embedded for: to search with, or to be found. Some models treat the two differently. */
export type EmbeddingKind = 'query' | 'passage';

/** How long texts are for a model. */
export interface TextLengths {
  /** In `unit`s, with what the model puts around a text. */
  lengths: number[];
  /** What the model reads of one. */
  most: number;
}

export interface EmbedOptions {
  dim: number;
  kind: EmbeddingKind;
  /** Put before each text; absent: what the model itself asks for. */
  prefix?: string | undefined;
  /** For a job: what somebody waits for comes first, and has a share of a provider's day for itself. */
  isOfJob?: boolean | undefined;
  /** Told of each text that is longer than the model reads. */
  onCut?: ((cut: CutText) => void) | undefined;
}

/**
 * Turns texts into vectors with one model. Implementations: the builtin lexical embedder (any dimension), and the
 * transformers models.
 */
export interface EmbeddingModel {
  /** The name recorded with a collection: `builtin`, or the model's name or folder. */
  readonly name: string;
  /** The model's dimension, or null if it fits any. */
  readonly dim: number | null;
  /**
   * One vector of length `dim` per text, in order, of unit length unless a transformers model's own configuration says
   * otherwise. A text's vector does not depend on the other texts. Errors: overloaded, unavailable.
   */
  embed(texts: string[], options: EmbedOptions): Promise<Float32Array[]>;
  /**
   * How much of what it reads passages take, with a prefix as embed has it. Absent: it is never less than a chunk of a
   * document. Errors: unavailable.
   */
  measure?(texts: string[], prefix?: string): Promise<TextLengths>;
  /** Releases the model's resources; calls under way fail. */
  close?(): Promise<void>;
}

/** The configured model, the one in use, and the reason if they differ. */
export interface EmbeddingStatus {
  configured: string;
  active: string;
  fallbackReason: string | null;
  /** Dimension of the model in use; null when it fits any, and before it is loaded. */
  dim: number | null;
  /** What a collection may name as the model of its `embedding`. */
  models: readonly string[];
}

/** Knows the configured model and opens others by name. */
export interface EmbeddingProvider {
  /** The model that new collections record at their first text. */
  defaultModel(): Promise<EmbeddingModel>;
  /**
   * The model of that name. Errors: embedding_unavailable when it can't be loaded, unavailable while it is still
   * loading.
   */
  model(name: string): Promise<EmbeddingModel>;
  /**
   * What embeds the texts of a collection: queries and passages with its prefixes, cut to its dimension. Errors: as
   * model.
   */
  modelFor(collection: ModelChoice): Promise<EmbeddingModel>;
  /**
   * The dimension of vectors that are made so; null: any. Errors: invalid_parameter when nobody may have that made
   * here, or it makes no sense; embedding_unavailable, unavailable.
   */
  dimensionOf(embedding: CollectionEmbedding): Promise<number | null>;
  /** For /v1/health. */
  status(): EmbeddingStatus;
}
