/**
 * Turns texts into vectors with one model. Implementations: the builtin lexical embedder (any dimension); the
 * transformers models join it behind this interface.
 */
export interface EmbeddingModel {
  /** The name recorded with a collection: `builtin`, or the model's name or folder. */
  readonly name: string;
  /** The model's dimension, or null when it fits any. */
  readonly dim: number | null;
  /** One unit-length vector of length `dim` per text, in order; a text's vector does not depend on its neighbours. */
  embed(texts: string[], options: { dim: number; kind: 'query' | 'passage' }): Promise<Float32Array[]>;
}

/** Knows the configured model and opens others by name. */
export interface EmbeddingProvider {
  /** The model that new collections record at their first text. */
  defaultModel(): Promise<EmbeddingModel>;
  /** The model of that name; QuiverError `embedding_unavailable` when it can't be loaded. */
  model(name: string): Promise<EmbeddingModel>;
  /** For /v1/health: what is configured, what is in force, and why if they differ. */
  status(): { configured: string; active: string; fallbackReason: string | null };
}
