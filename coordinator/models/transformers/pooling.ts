/** Ways to make one vector from a text's token vectors, as sentence-transformers' Pooling module defines them. */
export type PoolingMode = 'cls' | 'mean' | 'max' | 'mean_sqrt_len' | 'weighted_mean' | 'last';

export interface TokenStates {
  /** Row-major, texts × tokens × hidden. */
  states: Float32Array;
  /** Row-major, texts × tokens: 1 for a token of the text, 0 for padding. */
  mask: ArrayLike<number | bigint>;
  texts: number;
  tokens: number;
  hidden: number;
}

/**
 * One vector per text: the results of all modes, concatenated (Reimers and Gurevych, "Sentence-BERT", 2019). Sums are
 * in double precision. Answers texts × (hidden · modes), row-major.
 */
export function pool(input: TokenStates, modes: readonly PoolingMode[]): Float32Array {
  const { hidden, texts } = input;
  const vectors = new Float32Array(texts * hidden * modes.length);
  for (let text = 0; text < texts; text++) {
    modes.forEach((mode, i) => vectors.set(poolOne(input, text, mode), (text * modes.length + i) * hidden));
  }
  return vectors;
}

/** Scales every row of `dim` numbers to unit length; a row of zeros stays as it is. */
export function normaliseRows(vectors: Float32Array, dim: number): void {
  for (let start = 0; start < vectors.length; start += dim) {
    let square = 0;
    for (let i = start; i < start + dim; i++) square += vectors[i] * vectors[i];
    if (square === 0) continue;
    const length = Math.sqrt(square);
    for (let i = start; i < start + dim; i++) vectors[i] /= length;
  }
}

function poolOne(input: TokenStates, text: number, mode: PoolingMode): ArrayLike<number> {
  const places = placesOf(input, text);
  switch (mode) {
    case 'cls':
      return row(input, text, places[0] ?? 0);
    case 'last':
      return row(input, text, places.at(-1) ?? 0);
    case 'max':
      return maximum(input, text, places);
    case 'mean':
      return weightedSum(input, text, places, () => 1 / places.length);
    case 'mean_sqrt_len':
      return weightedSum(input, text, places, () => 1 / Math.sqrt(places.length));
    case 'weighted_mean': {
      const total = places.reduce((sum, place) => sum + place + 1, 0);
      return weightedSum(input, text, places, (place) => (place + 1) / total);
    }
  }
}

/** The positions of a text's own tokens; padding may be at either end. */
function placesOf({ mask, tokens }: TokenStates, text: number): number[] {
  const places: number[] = [];
  for (let place = 0; place < tokens; place++) if (Number(mask[text * tokens + place]) !== 0) places.push(place);
  return places;
}

function row({ states, tokens, hidden }: TokenStates, text: number, place: number): Float32Array {
  const start = (text * tokens + place) * hidden;
  return states.subarray(start, start + hidden);
}

function maximum(input: TokenStates, text: number, places: number[]): Float64Array {
  const result = new Float64Array(input.hidden).fill(places.length === 0 ? 0 : -Infinity);
  for (const place of places) {
    const values = row(input, text, place);
    for (let i = 0; i < values.length; i++) if (values[i] > result[i]) result[i] = values[i];
  }
  return result;
}

function weightedSum(
  input: TokenStates,
  text: number,
  places: number[],
  weightOf: (place: number) => number,
): Float64Array {
  const sums = new Float64Array(input.hidden);
  for (const place of places) {
    const weight = weightOf(place);
    const values = row(input, text, place);
    for (let i = 0; i < values.length; i++) sums[i] += weight * values[i];
  }
  return sums;
}
