import { attempt, LoadedModel } from '../transformers/loaded-model';
import type { ModelDescription } from '../transformers/model-description';
import { modelFailure } from '../transformers/model-failure';
import { normaliseRows } from '../transformers/pooling';
import type { PairScorer } from './pair-scorer';

/** Vectors of the tokens of a text, row-major, each of unit length. */
interface TokenVectors {
  vectors: Float32Array;
  dim: number;
}

/**
 * Scores a pair with an embedding model by its tokens: of each token of the query, the cosine of the token of the text
 * that is nearest to it, and of these the mean (Khattab and Zaharia, "ColBERT", SIGIR 2020). It needs no other model
 * than the one that is there, and sees single words that one vector of a whole text does not show. Special tokens of
 * the query count for nothing. Negative means are 0.
 */
export class LateInteraction implements PairScorer {
  /** Of the last query: all pairs of a call have the same. */
  private last: { query: string; made: TokenVectors } | null = null;
  /** Special tokens that every text has, before it and behind it. */
  private readonly specials: { before: number; behind: number };

  private constructor(
    private readonly model: LoadedModel,
    private readonly description: ModelDescription,
  ) {
    const { tokenizer } = model;
    const word = tokenizer.encode('a', { add_special_tokens: false });
    const whole = tokenizer.encode('a');
    const before = Math.max(0, whole.indexOf(word[0]));
    this.specials = { before, behind: Math.max(0, whole.length - before - word.length) };
  }

  static async open(description: ModelDescription): Promise<LateInteraction> {
    const scorer = new LateInteraction(await LoadedModel.open(description), description);
    await attempt("it can't score a pair", () => scorer.score('a', 'b'));
    return scorer;
  }

  async score(query: string, text: string): Promise<number> {
    const { prompts } = this.description;
    if (this.last?.query !== query)
      this.last = { query, made: this.withoutSpecials(await this.vectorsOf(prompts.query + query)) };
    return meanOfNearest(this.last.made, await this.vectorsOf(prompts.passage + text));
  }

  private async vectorsOf(text: string): Promise<TokenVectors> {
    const tokens = this.model.tokenizer.encode(text);
    const { tokensMax } = this.description;
    const { behind } = this.specials;
    const read =
      tokens.length <= tokensMax
        ? tokens
        : [...tokens.slice(0, tokensMax - behind), ...tokens.slice(tokens.length - behind)];
    const { outputs } = await this.model.run({ rows: [read] });
    const states = (outputs.last_hidden_state ?? outputs.token_embeddings)?.data as Float32Array | undefined;
    if (states === undefined)
      throw modelFailure(`its graph answers ${Object.keys(outputs).join(', ')}, not last_hidden_state`);
    const vectors = Float32Array.from(states);
    const dim = vectors.length / read.length;
    normaliseRows(vectors, dim);
    return { vectors, dim };
  }

  private withoutSpecials({ vectors, dim }: TokenVectors): TokenVectors {
    const { before, behind } = this.specials;
    const own = vectors.subarray(before * dim, vectors.length - behind * dim);
    return { vectors: own.length > 0 ? own : vectors, dim };
  }
}

/** 0 to 1. */
export function meanOfNearest(query: TokenVectors, text: TokenVectors): number {
  const { dim } = query;
  const rows = query.vectors.length / dim;
  let sum = 0;
  for (let start = 0; start < query.vectors.length; start += dim) {
    let best = -1;
    for (let other = 0; other < text.vectors.length; other += dim) {
      let product = 0;
      for (let i = 0; i < dim; i++) product += query.vectors[start + i] * text.vectors[other + i];
      if (product > best) best = product;
    }
    sum += best;
  }
  const mean = sum / rows;
  if (Number.isNaN(mean)) throw modelFailure('its score is no number');
  return Math.min(1, Math.max(0, mean));
}
