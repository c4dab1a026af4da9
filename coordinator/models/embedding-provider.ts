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
   * How much of what it reads passages take. Absent: it is never less than a chunk of a document. Errors: unavailable.
   */
  measure?(texts: string[]): Promise<TextLengths>;
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
  /** For /v1/health. */
  status(): EmbeddingStatus;
}
