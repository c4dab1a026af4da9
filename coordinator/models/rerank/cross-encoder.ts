import { attempt, LoadedModel } from '../transformers/loaded-model';
import type { ModelDescription } from '../transformers/model-description';
import { modelFailure } from '../transformers/model-failure';
import type { PairScorer } from './pair-scorer';
import { PairTemplate } from './pair-template';

/**
 * A model that reads a query and a text as one sequence and says how well they fit (Nogueira and Cho, "Passage
 * re-ranking with BERT", 2019). Its graph answers `logits`: one number for a pair, whose sigmoid is the score, or two,
 * of which the second is that of a fitting text.
 */
export class CrossEncoder implements PairScorer {
  /** The tokens of the last query: all pairs of a call have the same. */
  private last: { query: string; tokens: number[] } | null = null;

  private constructor(
    private readonly model: LoadedModel,
    private readonly template: PairTemplate,
  ) {}

  static async open(description: ModelDescription): Promise<CrossEncoder> {
    const model = await LoadedModel.open(description);
    const encoder = new CrossEncoder(model, PairTemplate.of(model.tokenizer, description.tokensMax));
    await attempt("it can't score a pair", () => encoder.score('a', 'b'));
    return encoder;
  }

  async score(query: string, text: string): Promise<number> {
    if (this.last?.query !== query) this.last = { query, tokens: this.template.query(query) };
    const { tokens, types } = this.template.pair(this.last.tokens, text);
    const { outputs } = await this.model.run({ rows: [tokens], types: [types] });
    return scoreOfLogits(outputs.logits?.data as Float32Array | undefined, Object.keys(outputs));
  }
}

/** 0 to 1. Errors: embedding_unavailable when the graph is none of a cross-encoder. */
export function scoreOfLogits(logits: ArrayLike<number> | undefined, outputs: readonly string[]): number {
  if (logits === undefined)
    throw modelFailure(`its graph answers ${outputs.join(', ')}, not logits: it is no cross-encoder`);
  if (logits.length !== 1 && logits.length !== 2)
    throw modelFailure(`its graph answers ${logits.length} logits for a pair, not one or two: it is no cross-encoder`);
  const logit = logits.length === 1 ? logits[0] : logits[1] - logits[0];
  if (Number.isNaN(logit)) throw modelFailure('its score is no number');
  return 1 / (1 + Math.exp(-logit));
}
