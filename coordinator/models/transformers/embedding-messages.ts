import type { PairScorerKind } from '../rerank/pair-scorer';
import type { ModelDescription } from './model-description';

/** The data with which a worker is started. */
export interface EmbeddingWorkerData {
  description: ModelDescription;
  /** What it scores pairs by; absent: it embeds texts. */
  scores?: PairScorerKind;
}

/**
 * Texts to embed in one batch; or of which to count the tokens; or to score, each alone, for a query; or the worker
 * must end after the requests before.
 */
export type EmbeddingRequest =
  | { type: 'embed'; id: number; texts: string[] }
  | { type: 'measure'; id: number; texts: string[] }
  | { type: 'score'; id: number; query: string; texts: string[] }
  | { type: 'end' };

/** First `ready` or `failed`, then one reply for each request, in order. */
export type EmbeddingReply =
  | { type: 'ready'; dim: number; isInvariant: boolean }
  /** `reason` may be shown to clients, `cause` goes to the log. */
  | { type: 'failed'; reason: string; cause: string }
  /** Texts × dim, row-major. `left`: the tokens of each text that the model did not read; absent: it read all. */
  | { type: 'vectors'; id: number; vectors: Float32Array<ArrayBuffer>; left?: number[] | undefined }
  /** The tokens of each text, with those that the model puts around it. */
  | { type: 'lengths'; id: number; lengths: number[] }
  /** By place, 0 to 1. */
  | { type: 'scores'; id: number; scores: number[] }
  | { type: 'error'; id: number; cause: string };
