import { OnnxGraph } from './onnx-graph';

/** Seven bits: products of eight by eight bits saturate on processors without VNNI, and their sums would differ. */
const CODE_MAX = 63;

export interface BertShape {
  vocabulary: number;
  /** Longest text in tokens. */
  positions: number;
  hidden: number;
  heads: number;
  layers: number;
  /** Width of the feed-forward part. */
  intermediate: number;
}

interface GraphOptions {
  quantized: boolean;
  random: () => number;
  labels?: number | undefined;
}

/**
 * The graph of a BERT encoder (Devlin et al., 2019) with random weights: inputs input_ids, attention_mask and
 * token_type_ids, each int64 [batch, sequence]; output last_hidden_state, float [batch, sequence, hidden], or with
 * `labels` that of a cross-encoder: logits, float [batch, labels], made of the first token.
 * `quantized` makes every product with a weight one of integers, its left side quantized at run time over the whole
 * tensor (DynamicQuantizeLinear), as quantized models on the hub are. `random` gives numbers in [0, 1).
 */
export function bertModel(shape: BertShape, options: GraphOptions): Uint8Array {
  return new BertGraph(shape, options).model();
}

class BertGraph {
  private readonly graph = new OnnxGraph();

  constructor(
    private readonly shape: BertShape,
    private readonly options: GraphOptions,
  ) {}

  model(): Uint8Array {
    const { graph, shape } = this;
    const [ids, mask, types] = ['input_ids', 'attention_mask', 'token_type_ids'].map((name) =>
      graph.input(name, 'int64', ['batch', 'sequence']),
    );
    let states = this.embeddings(ids, types);
    const bias = this.attentionBias(mask);
    for (let layer = 0; layer < shape.layers; layer++) states = this.layer(states, bias);
    const { labels } = this.options;
    if (labels === undefined) graph.output('last_hidden_state', states, 'float', ['batch', 'sequence', shape.hidden]);
    else graph.output('logits', this.logits(states, labels), 'float', ['batch', labels]);
    return graph.model();
  }

  private embeddings(ids: string, types: string): string {
    const { graph, shape } = this;
    const words = graph.apply('Gather', [this.weights([shape.vocabulary, shape.hidden], 1), ids]);
    const kinds = graph.apply('Gather', [this.weights([2, shape.hidden], 0.1), types]);
    const length = graph.apply('Gather', [graph.apply('Shape', [ids]), graph.integers([], [1])]);
    const range = graph.apply('Range', [graph.integers([], [0]), length, graph.integers([], [1])]);
    const places = graph.apply('Gather', [this.weights([shape.positions, shape.hidden], 0.3), range]);
    return this.normalised(this.sum(this.sum(words, kinds), places));
  }

  /** 0 where a token counts, a large negative number where it is padding: [batch, 1, 1, sequence]. */
  private attentionBias(mask: string): string {
    const { graph } = this;
    const counts = graph.apply('Unsqueeze', [graph.apply('Cast', [mask], { to: 1 }), graph.integers([2], [1, 2])]);
    return graph.apply('Mul', [graph.apply('Sub', [counts, graph.floats([], [1])]), graph.floats([], [10_000])]);
  }

  private layer(states: string, bias: string): string {
    const { graph, shape } = this;
    const { hidden, heads, intermediate } = shape;
    const split = (value: string, axes: number[]): string =>
      graph.apply('Transpose', [graph.apply('Reshape', [value, graph.integers([4], [0, 0, heads, hidden / heads])])], {
        perm: axes,
      });
    const query = split(this.linear(states, hidden, hidden), [0, 2, 1, 3]);
    const key = split(this.linear(states, hidden, hidden), [0, 2, 3, 1]);
    const value = split(this.linear(states, hidden, hidden), [0, 2, 1, 3]);
    const scores = graph.apply('Mul', [
      graph.apply('MatMul', [query, key]),
      graph.floats([], [1 / Math.sqrt(hidden / heads)]),
    ]);
    const attention = graph.apply('Softmax', [this.sum(scores, bias)], { axis: 3 });
    const context = graph.apply('Transpose', [graph.apply('MatMul', [attention, value])], { perm: [0, 2, 1, 3] });
    const joined = graph.apply('Reshape', [context, graph.integers([3], [0, 0, hidden])]);
    const attended = this.normalised(this.sum(states, this.linear(joined, hidden, hidden)));
    const inner = graph.apply('Gelu', [this.linear(attended, hidden, intermediate)]);
    return this.normalised(this.sum(attended, this.linear(inner, intermediate, hidden)));
  }

  private logits(states: string, labels: number): string {
    const first = this.graph.apply('Gather', [states, this.graph.integers([], [0])], { axis: 1 });
    return this.linear(first, this.shape.hidden, labels);
  }

  private linear(value: string, from: number, to: number): string {
    const spread = 2 / Math.sqrt(from);
    const product = this.options.quantized
      ? this.integerProduct(value, from, to, spread)
      : this.graph.apply('MatMul', [value, this.weights([from, to], spread)]);
    return this.sum(product, this.weights([to], 0.1));
  }

  private integerProduct(value: string, from: number, to: number, spread: number): string {
    const { graph } = this;
    const names = ['quantized', 'scale', 'zero'].map((name) => graph.newName(name));
    const [left, scale, zero] = graph.node('DynamicQuantizeLinear', [value], {}, names);
    const codes = Int8Array.from({ length: from * to }, () => Math.round((this.options.random() * 2 - 1) * CODE_MAX));
    const weights = graph.constant('int8', [from, to], codes);
    const product = graph.apply('MatMulInteger', [left, weights, zero, graph.constant('int8', [], Int8Array.of(0))]);
    const factor = graph.apply('Mul', [scale, graph.floats([], [spread / CODE_MAX])]);
    return graph.apply('Mul', [graph.apply('Cast', [product], { to: 1 }), factor]);
  }

  private normalised(value: string): string {
    const { hidden } = this.shape;
    const ones = this.graph.floats([hidden], new Float32Array(hidden).fill(1));
    return this.graph.apply('LayerNormalization', [value, ones, this.weights([hidden], 0.1)], {
      axis: 2,
      epsilon: { float: 1e-12 },
    });
  }

  private sum(left: string, right: string): string {
    return this.graph.apply('Add', [left, right]);
  }

  /** Evenly spread in ±spread. */
  private weights(dims: number[], spread: number): string {
    const count = dims.reduce((product, dim) => product * dim, 1);
    return this.graph.floats(
      dims,
      Float32Array.from({ length: count }, () => (this.options.random() * 2 - 1) * spread),
    );
  }
}
