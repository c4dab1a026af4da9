import { float32FromBase64Text } from '../../../shared/contract/vector/float32-bytes';
import { modelFailure } from '../transformers/model-failure';

/** What a server of the OpenAI protocol answered to /embeddings. */
export interface EmbeddingsAnswer {
  /** Texts × dim, row-major, in the order of the texts. */
  vectors: Float32Array;
  dim: number;
  /** What it counted; null: it does not say. */
  tokens: number | null;
}

/**
 * Reads it; `name` names the model in messages. Errors: embedding_unavailable when it is not one vector for each text.
 */
export function embeddingsIn(json: unknown, count: number, name: string): EmbeddingsAnswer {
  const refuse = (what: string): never => {
    throw modelFailure(`The embedding model "${name}" answers ${what}`);
  };
  const { data, usage } = objectOf(json);
  const rows = Array.isArray(data) ? (data as unknown[]).map(objectOf) : refuse('no list of vectors');
  if (rows.length !== count) refuse(`${rows.length} vectors for ${count} ${count === 1 ? 'text' : 'texts'}`);
  let vectors = new Float32Array(0);
  let dim = 0;
  const isFilled = new Uint8Array(count);
  rows.forEach(({ index, embedding }, at) => {
    // Servers that say no place answer in order.
    const place = index ?? at;
    if (typeof place !== 'number' || !Number.isInteger(place) || place < 0 || place >= count || isFilled[place] === 1)
      return refuse('vectors whose places are not those of the texts');
    const vector = vectorIn(embedding) ?? refuse('something that is no vector');
    if (at === 0) {
      dim = vector.length;
      vectors = new Float32Array(count * dim);
    }
    if (vector.length !== dim || dim === 0) return refuse('vectors of different lengths');
    // The difference of a number with itself is NaN unless the number is finite.
    for (let i = 0; i < dim; i++) if (vector[i] - vector[i] !== 0) return refuse('a vector with what is no number');
    vectors.set(vector, place * dim);
    isFilled[place] = 1;
  });
  const { total_tokens: total, prompt_tokens: prompt } = objectOf(usage);
  return { vectors, dim, tokens: countOf(total) ?? countOf(prompt) };
}

function vectorIn(value: unknown): Float32Array | null {
  if (typeof value === 'string') return float32FromBase64Text(value);
  if (!Array.isArray(value)) return null;
  return (value as unknown[]).every((one) => typeof one === 'number') ? Float32Array.from(value as number[]) : null;
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
