import { QuiverError } from '../../../shared/errors/quiver-error';
import type { Filter, JsonObject } from '../../../shared/filter/filter';
import { matches } from '../../../node/filter/matches';
import { queryTerms } from '../../../shared/text/analyser';
import { analyserFor } from '../../../shared/text/analyser-for';
import { keywordText } from '../../../node/keyword/keyword-text';
import { scoreOf } from '../../../shared/vector/metric';
import type { CollectionView, NewCollection, ScoredHit, VectorInput, VectorSource } from '../../../coordinator/service';

export interface MemoryItem {
  externalId: string;
  stamp: number;
  vector: Float32Array;
  metadata: string;
  text: string | null;
}

/** Words hashed into dimensions: the same text always gives the same vector, texts that share words are close. */
function embed(text: string, dim: number): Float32Array {
  const vector = new Float32Array(dim);
  for (const word of text.toLowerCase().split(/\W+/).filter(Boolean)) {
    let hash = 7;
    for (const character of word) hash = (hash * 31 + (character.codePointAt(0) as number)) % 1_000_003;
    vector[hash % dim] += 1;
  }
  return vector;
}

/** One collection as the interfaces mean it, by brute force, for tests of what lies above the services. */
export class MemoryCollection {
  readonly items = new Map<string, MemoryItem>();
  description: string | null;
  private embeddingModel: string | null = null;
  private nextStamp = 1;

  constructor(
    readonly input: NewCollection,
    private readonly createdAt: string,
  ) {
    this.description = input.description;
  }

  view(): CollectionView {
    const { name, dim, metric, language, shards = 1, replicas = 1, minInSync = replicas >= 3 ? 2 : 1 } = this.input;
    const { description, createdAt, embeddingModel } = this;
    return { name, dim, metric, description, language, vectorCount: this.items.size, createdAt, shards, replicas, minInSync, embeddingModel };
  }

  vectorOf(source: VectorSource, place = ''): Float32Array {
    if (source.vector === undefined) return embed(source.text, this.input.dim);
    const { vector } = source;
    if (vector.length === this.input.dim) return vector;
    throw new QuiverError('dimension_mismatch', `${place}dimension mismatch: the vector has ${vector.length} elements, the collection ${this.input.dim}`);
  }

  upsert(inputs: VectorInput[]): ('inserted' | 'updated')[] {
    const vectors = inputs.map(({ source, externalId }, i) => this.vectorOf(source, `items[${i}] (external_id ${externalId}): `));
    if (inputs.some(({ source }) => source.vector === undefined)) this.embeddingModel = 'words';
    return inputs.map(({ externalId, metadata, text }, i) => {
      const stored = this.items.get(externalId);
      this.items.set(externalId, {
        externalId,
        stamp: stored?.stamp ?? this.nextStamp++,
        vector: Float32Array.from(vectors[i]),
        metadata: metadata ?? stored?.metadata ?? '{}',
        text: text ?? stored?.text ?? null,
      });
      return stored === undefined ? 'inserted' : 'updated';
    });
  }

  matching(filter: Filter | null): MemoryItem[] {
    return this.inOrder().filter(({ metadata }) => filter === null || matches(filter, JSON.parse(metadata) as JsonObject));
  }

  inOrder(): MemoryItem[] {
    return [...this.items.values()].sort((a, b) => a.stamp - b.stamp);
  }

  ranked(vector: Float32Array, items: MemoryItem[]): ScoredHit[] {
    return sorted(items.map((item) => hitOf(item, scoreOf(this.input.metric, vector, item.vector))));
  }

  /** Items that hold a word of the query, those with more of them first. */
  keywordRanked(query: string, items: MemoryItem[]): ScoredHit[] {
    const analyser = analyserFor(this.input.language);
    const words = queryTerms(analyser, query);
    const scored = items.map((item) => {
      const terms = analyser.terms(keywordText(item.text, JSON.parse(item.metadata) as JsonObject));
      return hitOf(item, words.filter((word) => terms.includes(word)).length);
    });
    return sorted(scored.filter(({ score }) => score > 0));
  }
}

export function hitOf(item: MemoryItem, score: number): ScoredHit {
  return { externalId: item.externalId, score, metadata: item.metadata, text: item.text ?? '' };
}

export function sorted(hits: ScoredHit[]): ScoredHit[] {
  return hits.sort((a, b) => b.score - a.score || (a.externalId < b.externalId ? -1 : 1));
}
