import { attempt, LoadedModel, type Tensor } from './loaded-model';
import type { ModelDescription } from './model-description';
import { quantizesActivations } from './model-variant';
import { modelFailure } from './model-failure';
import { normaliseRows, pool } from './pooling';

/**
 * Least cosine between the vector of a text alone and in a batch. Below it, the model does not run several texts at
 * once.
 */
const INVARIANT_COSINE = 0.99999;
/** Texts of different lengths and scripts, so that quantization over all of them differs from that over one. */
const PROBES = [
  'a red fox',
  'Wer wagt, gewinnt: 12,345 times out of 67,890!',
  '水',
  'an old stone bridge crosses the slow river where the road from the sea turns north',
];

/**
 * One model in this thread, on the CPU, with one native thread: from texts to vectors by tokenizer, graph, pooling and
 * scaling. The work inside is synchronous, so this belongs in a worker thread.
 */
export class SentenceEncoder {
  /** Length of a vector, as the graph outputs it. */
  dim = 0;
  /** Whether a text's vector stays the same (by cosine) when other texts run in the same batch. */
  isInvariant = false;
  /** Number of special tokens after a text. */
  private trailing = 0;

  private constructor(
    private readonly model: LoadedModel,
    private readonly description: ModelDescription,
  ) {}

  /**
   * Loads the model from its folder, never from the network, and warms it up. Errors: embedding_unavailable, naming the
   * file that is broken.
   */
  static async open(description: ModelDescription): Promise<SentenceEncoder> {
    const encoder = new SentenceEncoder(await LoadedModel.open(description), description);
    await attempt("it can't embed", () => encoder.warmUp());
    return encoder;
  }

  /** Tokens of a text, with the special ones. */
  tokenCount(text: string): number {
    return this.model.tokenizer.encode(text).length;
  }

  /** As `encode`, with the tokens of each text that were left out; null: none were. */
  async encodeCounted(texts: string[]): Promise<{ vectors: Float32Array; left: number[] | null }> {
    const left = texts.map(() => 0);
    const vectors = await this.encode(texts, left);
    return { vectors, left: left.some((count) => count > 0) ? left : null };
  }

  /** Runs the texts in one batch; answers texts × dim, row-major. `left` gets how many tokens of each were left out. */
  async encode(texts: string[], left?: number[]): Promise<Float32Array> {
    const rows = texts.map((text, i) => this.tokensOf(text, (count) => left !== undefined && (left[i] = count)));
    const { outputs, mask, dims } = await this.model.run({ rows });
    return this.vectorsOf(outputs, mask, dims);
  }

  private async warmUp(): Promise<void> {
    this.trailing = this.trailingSpecials();
    const first = await this.encode([PROBES[0]]);
    this.dim = first.length;
    if (!first.every(Number.isFinite)) throw modelFailure('its vectors hold what is no number');
    this.isInvariant =
      !quantizesActivations(this.description.variant) && (await this.leastCosine()) >= INVARIANT_COSINE;
  }

  /** Measures the least cosine between the vector of a probe alone and in a batch of all probes. */
  private async leastCosine(): Promise<number> {
    const together = await this.encode(PROBES);
    let least = 1;
    for (const [i, text] of PROBES.entries()) {
      least = Math.min(least, cosine(await this.encode([text]), together.subarray(i * this.dim, (i + 1) * this.dim)));
    }
    return least;
  }

  /** Tokens of a text, cut to what the model reads. The special tokens at the end stay, as in the model's training. */
  private tokensOf(text: string, cut: (left: number) => void): number[] {
    const tokens = this.model.tokenizer.encode(text);
    const { tokensMax } = this.description;
    if (tokens.length <= tokensMax) return tokens;
    cut(tokens.length - tokensMax);
    const end = Math.min(this.trailing, tokensMax - 1);
    return [...tokens.slice(0, tokensMax - end), ...tokens.slice(tokens.length - end)];
  }

  /**
   * Special tokens at the end: those that an empty text has, too, and that two texts of different words have in common.
   */
  private trailingSpecials(): number {
    const [one, other] = [this.model.tokenizer.encode('a b'), this.model.tokenizer.encode('b a')];
    const specials = this.model.tokenizer.encode('').length;
    let count = 0;
    while (count < specials && one.at(-1 - count) === other.at(-1 - count)) count++;
    return Math.min(count, specials);
  }

  private vectorsOf(
    outputs: Record<string, Tensor | undefined>,
    mask: BigInt64Array,
    [texts, tokens]: number[],
  ): Float32Array {
    const { pooling, normalises, needsSentenceEmbedding } = this.description;
    const states = needsSentenceEmbedding ? undefined : (outputs.last_hidden_state ?? outputs.token_embeddings);
    const whole = states ?? outputs.sentence_embedding;
    if (whole === undefined)
      throw modelFailure(
        `its graph answers ${Object.keys(outputs).join(', ')}, not ${needsSentenceEmbedding ? 'sentence_embedding' : 'last_hidden_state'}`,
      );
    const data = Float32Array.from(whole.data as Float32Array);
    const vectors =
      states === undefined
        ? data
        : pool({ states: data, mask, texts, tokens, hidden: data.length / (texts * tokens) }, pooling);
    if (normalises) normaliseRows(vectors, vectors.length / texts);
    return vectors;
  }
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [product, left, right] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    product += a[i] * b[i];
    left += a[i] * a[i];
    right += b[i] * b[i];
  }
  return product / Math.sqrt(left * right);
}
