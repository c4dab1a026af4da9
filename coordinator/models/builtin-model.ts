import { type Analyser, defaultAnalyser } from '../../shared/base/text/analyser';
import { inSlices } from '../../shared/base/time/work-slices';
import type { EmbeddingModel, EmbedOptions, TextLengths } from './embedding-provider';
import { mixHash } from './feature-hash';
import { visitFeatures } from './lexical-features';

/** The name that selects the builtin model and that collections record. */
export const BUILTIN_MODEL = 'builtin';

/**
 * How many characters of a text are used: about 8,000 words, more than the transformer models read. It bounds the time
 * for one text to about ten milliseconds.
 */
export const EMBEDDED_CHARACTERS_MAX = 49_152;

/**
 * The lexical embedder, which needs no download and fits any dimension. It hashes the features of a text (see
 * visitFeatures) with signs into `dim` dimensions (Weinberger et al., "Feature hashing for large scale multitask
 * learning", 2009), each into two places, and scales the sum to unit length. Texts are near when they share words,
 * parts of words and phrases; it knows no synonyms.
 *
 * Deterministic: integer sums, then one exactly rounded square root and division per element; tests compare with golden
 * vectors. A blank text has nothing to compare: its vector is zero, the only one without unit length.
 */
export class BuiltinModel implements EmbeddingModel {
  readonly name = BUILTIN_MODEL;
  readonly dim = null;
  private readonly analyser: Analyser;

  constructor(options: { analyser?: Analyser } = {}) {
    this.analyser = options.analyser ?? defaultAnalyser;
  }

  /** In slices, one text per step, so that many texts, or one call beside many others, block nobody. */
  embed(texts: string[], options: EmbedOptions): Promise<Float32Array[]> {
    for (const [index, text] of texts.entries()) {
      const left = (options.prefix ?? '').length + text.length - EMBEDDED_CHARACTERS_MAX;
      if (left > 0) options.onCut?.({ index, read: EMBEDDED_CHARACTERS_MAX, left, unit: 'characters', isMore: false });
    }
    return inSlices(this.steps(texts, options));
  }

  /** In characters. */
  async measure(texts: string[], prefix = ''): Promise<TextLengths> {
    return { lengths: texts.map((text) => prefix.length + text.length), most: EMBEDDED_CHARACTERS_MAX };
  }

  private *steps(texts: string[], { dim, prefix = '' }: EmbedOptions): Generator<undefined, Float32Array[]> {
    const vectors: Float32Array[] = [];
    for (const text of texts) {
      vectors.push(this.embedOne(prefix + text, dim));
      yield;
    }
    return vectors;
  }

  private embedOne(text: string, dim: number): Float32Array {
    const sums = new Float64Array(dim);
    let features = 0;
    visitFeatures(text.slice(0, EMBEDDED_CHARACTERS_MAX), this.analyser, (hash, weight) => {
      features = (features ^ hash) >>> 0;
      addSigned(sums, hash, weight);
      addSigned(sums, mixHash(hash ^ SECOND_PLACE), weight);
    });
    const vector = unitVector(sums);
    // Signs may cancel everything, mostly in one or two dimensions. Then any fixed direction will do.
    if (vector === null) return features === 0 ? new Float32Array(dim) : axis(dim, features);
    return vector;
  }
}

const SECOND_PLACE = 0x9e3779b9;

/** The high bits of the hash choose the position, its lowest bit the sign. */
function addSigned(sums: Float64Array, hash: number, weight: number): void {
  const place = Math.floor((hash * sums.length) / 0x1_0000_0000);
  sums[place] += (hash & 1) === 0 ? weight : -weight;
}

function unitVector(sums: Float64Array): Float32Array | null {
  let square = 0;
  for (let i = 0; i < sums.length; i++) square += sums[i] * sums[i];
  if (square === 0) return null;
  const length = Math.sqrt(square);
  const vector = new Float32Array(sums.length);
  for (let i = 0; i < sums.length; i++) vector[i] = sums[i] / length;
  return vector;
}

function axis(dim: number, hash: number): Float32Array {
  const vector = new Float32Array(dim);
  vector[hash % dim] = 1;
  return vector;
}
