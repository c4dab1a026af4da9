import { randomUUID } from 'node:crypto';
import { MastraVector } from '@mastra/core/vector';
import { NotFoundError, QuiverClient } from 'quiver-client';

const METRICS = { cosine: 'cosine', euclidean: 'l2', dotproduct: 'ip' };
const MASTRA_METRICS = { cosine: 'cosine', l2: 'euclidean', ip: 'dotproduct' };

/**
 * A vector store of Mastra: an index is a collection. Filters are Quiver's, which Mastra's operators are a part of
 * ($eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $and, $or, $not).
 */
export class QuiverVector extends MastraVector {
  /** @param {{ url?: string, apiKey?: string }} [options] by default QUIVER_URL and QUIVER_API_KEY */
  constructor(options = {}) {
    super();
    this.client = new QuiverClient(options);
  }

  async createIndex({ indexName, dimension, metric = 'cosine' }) {
    const description = { name: indexName, dim: dimension, distance_metric: METRICS[metric] };
    const collection = await this.client.getOrCreate(description);
    const { dim } = await collection.info();
    if (dim !== dimension) throw new Error(`index "${indexName}" has ${dim} dimensions, not ${dimension}`);
  }

  async listIndexes() {
    return (await this.client.listCollections()).map(({ name }) => name);
  }

  async describeIndex({ indexName }) {
    const { dim, vector_count, distance_metric } = await this.client.collection(indexName).info();
    return { dimension: dim, count: vector_count, metric: MASTRA_METRICS[distance_metric] };
  }

  async deleteIndex({ indexName }) {
    await this.client.collection(indexName).drop();
  }

  /** What a `deleteFilter` matches goes before, in a request of its own. */
  async upsert({
    indexName,
    vectors,
    metadata = [],
    ids = vectors.map(() => randomUUID()),
    deleteFilter,
    sparseVectors,
  }) {
    if (sparseVectors !== undefined) throw new Error('Quiver has no sparse vectors');
    const collection = this.client.collection(indexName);
    if (deleteFilter !== undefined) await collection.deleteByFilter(deleteFilter);
    await collection.upsertMany(
      vectors.map((vector, i) => ({ external_id: ids[i], vector, metadata: metadata[i] ?? {} })),
    );
    return ids;
  }

  async query({ indexName, queryVector, topK = 10, filter, includeVector = false, sparseVector }) {
    if (sparseVector !== undefined) throw new Error('Quiver has no sparse vectors');
    const collection = this.client.collection(indexName);
    const { results } = await collection.search({ vector: queryVector, k: topK, ...(filter && { filters: filter }) });
    const hits = results.map(({ external_id, score, metadata }) => ({ id: external_id, score, metadata }));
    if (!includeVector) return hits;
    const found = await collection.fetch(hits.map(({ id }) => id));
    const vectors = new Map(found.map(({ external_id, vector }) => [external_id, [...vector]]));
    return hits.map((hit) => ({ ...hit, vector: vectors.get(hit.id) }));
  }

  async updateVector({ indexName, id, filter, update }) {
    const collection = this.client.collection(indexName);
    if (id !== undefined) {
      await collection.patch(id, update);
      return;
    }
    if (update.vector !== undefined) throw new Error('a vector belongs to one item: name its id');
    await collection.updateByFilter({ filters: filter, set: update.metadata });
  }

  async deleteVector({ indexName, id }) {
    await this.client
      .collection(indexName)
      .delete(id)
      .catch((error) => {
        if (!(error instanceof NotFoundError)) throw error;
      });
  }

  async deleteVectors({ indexName, ids, filter }) {
    const collection = this.client.collection(indexName);
    if (ids === undefined) await collection.deleteByFilter(filter);
    else await collection.deleteMany(ids);
  }
}
