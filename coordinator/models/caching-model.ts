import { LRUCache } from 'lru-cache';
import type { CutText } from './cut-text';
import type { EmbeddingModel, EmbedOptions, TextLengths } from './embedding-provider';

/** Bytes of query vectors cached per model: about 5,000 queries of 384 dimensions with their texts. */
const CACHE_BYTES = 16 * 1024 * 1024;
/** Longer queries are hardly ever repeated. */
const CACHED_TEXT_LENGTH_MAX = 4096;

/**
 * Caches the vectors of recent queries of a slow model. Passages are not cached, because a text is stored only once.
 * Vectors are copies, so callers may change theirs.
 */
export class CachingModel implements EmbeddingModel {
  private readonly queries = new LRUCache<string, { vector: Float32Array; cut: CutText | undefined }>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ vector }, key) => vector.byteLength + 2 * key.length + 64,
  });

  constructor(private readonly model: EmbeddingModel) {}

  get name(): string {
    return this.model.name;
  }

  get dim(): number | null {
    return this.model.dim;
  }

  close(): Promise<void> {
    return this.model.close?.() ?? Promise.resolve();
  }

  measure(texts: string[], prefix?: string): Promise<TextLengths> {
    return this.model.measure?.(texts, prefix) ?? Promise.resolve({ lengths: texts.map(() => 0), most: Infinity });
  }

  async embed(texts: string[], options: EmbedOptions): Promise<Float32Array[]> {
    if (options.kind === 'passage') return this.model.embed(texts, options);
    const { prefix } = options;
    const head = prefix === undefined ? `${options.dim} ` : `${options.dim} ${prefix.length} ${prefix}`;
    const keys = texts.map((text) => head + text);
    const known = keys.map((key) => this.queries.get(key));
    const missing = texts.filter((_, i) => known[i] === undefined);
    const cuts = new Map<number, CutText>();
    const embedded =
      missing.length === 0
        ? []
        : await this.model.embed(missing, { ...options, onCut: (cut) => cuts.set(cut.index, cut) });
    let next = 0;
    return keys.map((key, i) => {
      const cached = known[i];
      const cut = cached === undefined ? cuts.get(next) : cached.cut;
      if (cut !== undefined) options.onCut?.({ ...cut, index: i });
      if (cached !== undefined) return cached.vector.slice();
      const vector = embedded[next++];
      if (key.length <= CACHED_TEXT_LENGTH_MAX) this.queries.set(key, { vector: vector.slice(), cut });
      return vector;
    });
  }
}
