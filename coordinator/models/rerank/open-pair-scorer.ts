import type { ModelDescription } from '../transformers/model-description';
import { CrossEncoder } from './cross-encoder';
import { LateInteraction } from './late-interaction';
import type { PairScorer, PairScorerKind } from './pair-scorer';

/** Loads a model and scores a first pair. Errors: embedding_unavailable, naming what is broken. */
export function openPairScorer(kind: PairScorerKind, description: ModelDescription): Promise<PairScorer> {
  return kind === 'cross-encoder' ? CrossEncoder.open(description) : LateInteraction.open(description);
}
