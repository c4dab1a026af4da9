import type { ModelDescription } from './model-description';

/** What a worker is started with. */
export interface EmbeddingWorkerData {
  description: ModelDescription;
}

/** Texts to embed, all at once; or the worker is to end after what it was asked before. */
export type EmbeddingRequest = { type: 'embed'; id: number; texts: string[] } | { type: 'end' };

/** First `ready` or `failed`, then an answer for each request, in order. */
export type EmbeddingReply =
  | { type: 'ready'; dim: number; isInvariant: boolean }
  /** `reason` is fit for clients, `cause` for the log. */
  | { type: 'failed'; reason: string; cause: string }
  /** Texts × dim, row-major. */
  | { type: 'vectors'; id: number; vectors: Float32Array<ArrayBuffer> }
  | { type: 'error'; id: number; cause: string };
