import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { inSlices } from '../../../shared/base/time/work-slices';
import type { Reranker, RerankOptions } from './reranker';

/** Bytes of scores that are kept per model: those of about 80,000 pairs. */
const CACHE_BYTES = 16 * 1024 * 1024;
/** Of one: its key, the number, and their places in the cache. */
const ENTRY_BYTES = 200;

/**
 * Keeps the scores of recent pairs, by a digest of the two texts: what an item's text is by now decides, so a score is
 * never that of an earlier version, and items with the same text are scored once.
 */
export class CachingReranker implements Reranker {
  private readonly scores = new LRUCache<string, number>({
    maxSize: CACHE_BYTES,
    sizeCalculation: () => ENTRY_BYTES,
  });

  constructor(private readonly reranker: Reranker) {}

  async score(query: string, texts: readonly string[], options: RerankOptions = {}): Promise<(number | undefined)[]> {
    const keys = await inSlices(keysOf(query, texts));
    const known = new Map<string, number | undefined>();
    for (const key of keys) if (!known.has(key)) known.set(key, this.scores.get(key));
    const missing = new Map<string, string>();
    keys.forEach((key, i) => {
      if (known.get(key) === undefined && !missing.has(key)) missing.set(key, texts[i]);
    });
    options.onCached?.(keys.filter((key) => !missing.has(key)).length);
    if (missing.size > 0) {
      const made = await this.reranker.score(query, [...missing.values()], { budgetMs: options.budgetMs });
      [...missing.keys()].forEach((key, i) => {
        const score = made[i];
        if (score === undefined) return;
        known.set(key, score);
        this.scores.set(key, score);
      });
    }
    return keys.map((key) => known.get(key));
  }

  close(): Promise<void> {
    return this.reranker.close?.() ?? Promise.resolve();
  }
}

/** In steps: a thousand long texts take a tenth of a second. */
function* keysOf(query: string, texts: readonly string[]): Generator<undefined, string[]> {
  const head = createHash('sha256').update(query.toWellFormed()).digest();
  const keys: string[] = [];
  for (const text of texts) {
    keys.push(createHash('sha256').update(head).update(text.toWellFormed()).digest('base64'));
    yield;
  }
  return keys;
}
