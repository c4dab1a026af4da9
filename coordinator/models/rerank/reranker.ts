/** How pairs are scored. */
export interface RerankOptions {
  /** After so many milliseconds, what was not scored by then stays without a score. */
  budgetMs?: number | undefined;
  /** Told how many of the texts have scores that are remembered, and need no model. */
  onCached?: ((count: number) => void) | undefined;
}

/** A model that says how well texts answer a query. */
export interface Reranker {
  /**
   * One score for each text, by place, 0 to 1, higher is better; undefined where the budget was not enough. The score
   * of a pair depends on nothing but its two texts. Errors: overloaded, unavailable, embedding_unavailable.
   */
  score(query: string, texts: readonly string[], options?: RerankOptions): Promise<(number | undefined)[]>;
  /** Releases the model's resources; calls under way fail. */
  close?(): Promise<void>;
}

/** The rerank models that requests may name. */
export interface RerankProvider {
  /**
   * The name of the model that a request means, the first one if it names none. Errors: invalid_parameter, which says
   * which models there are.
   */
  modelOf(asked: string | undefined): Promise<string>;
  /** As Reranker, of the model of that name. Errors: embedding_unavailable when it can't be loaded. */
  score(
    model: string,
    query: string,
    texts: readonly string[],
    options?: RerankOptions,
  ): Promise<(number | undefined)[]>;
}

/**
 * Code units of a text that are given to a model: 16,384 are more than a model of 2,048 tokens reads. What is behind
 * counts for nothing.
 */
export const RERANKED_UNITS_MAX = 16_384;
