import type {
  AliasLookUp,
  CollectionPurge,
  CollectionsService,
  CollectionStats,
  CollectionView,
  StorageQuota,
  UnavailableShard,
  VectorsService,
  VectorView,
} from '../../service/service';
import type { AliasesService } from '../../service/aliases-service';
import type { z } from 'zod';
import type { CollectionEmbedding } from '../../models/collection-embedding';
import type { KeywordFields } from '../../../shared/contract/shard/keyword-fields';
import { takenFrom } from '../../service/pages';
import { exportedVectorJson } from '../answers/answer-json';
import { mustAdminister, scopedOf, seeingOf, seenBy } from '../requests/authorisation';
import type { VectorFormat, VectorFormats } from '../body/vector-format';
import { aliasTarget, settled } from './alias-endpoints';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import type { HttpLimits } from '../requests/http-limits';
import { reshardData } from '../answers/reshard-data';
import * as schemas from '../schema/collection-schemas';

const tag = 'Collections';

function collectionData(view: CollectionView & { job?: string | undefined }) {
  return {
    name: view.name,
    dim: view.dim,
    distance_metric: view.metric,
    description: view.description,
    language: view.language,
    // Absent in what an earlier version kept for a repetition.
    keyword_fields: (view.keywordFields as KeywordFields | null | undefined) ?? null,
    stop_words: shownStopWords(view.stopWords),
    synonyms: (view.synonyms as CollectionView['synonyms'] | undefined) ?? null,
    keyword_positions: (view.keywordPositions as boolean | undefined) ?? true,
    quantization: view.quantization,
    metadata: view.metadata,
    vectors: view.vectors,
    vector_count: view.vectorCount,
    // Absent in what an earlier version kept for a repetition.
    unavailable_shards: (view.unavailableShards as UnavailableShard[] | undefined) ?? [],
    created_at: view.createdAt,
    shards: view.shards,
    replicas: view.replicas,
    min_in_sync: view.minInSync,
    ttl_seconds: view.ttlSeconds,
    embedding_model: view.embeddingModel,
    embedding: shownEmbedding(view.embedding),
    quota: view.quota,
    ...(view.job !== undefined && { job_id: view.job }),
  };
}

/** Absent in what an earlier version kept for a repetition. */
function shownStopWords(words: CollectionView['stopWords'] | undefined): { add: string[]; remove: string[] } | null {
  return words === undefined || words === null ? null : { add: [...words.add], remove: [...words.remove] };
}

type EmbeddingBody = NonNullable<z.output<ReturnType<typeof schemas.newCollection>>['embedding']>;

/** What a body says of a model. */
export function embeddingOf(
  given: Pick<EmbeddingBody, 'model' | 'dtype' | 'query_prefix' | 'passage_prefix' | 'truncate_dim'>,
) {
  const { model, dtype, query_prefix: queryPrefix, passage_prefix: passagePrefix, truncate_dim: truncateDim } = given;
  return { model, dtype, queryPrefix, passagePrefix, truncateDim };
}

function shownEmbedding(embedding: CollectionEmbedding | null | undefined) {
  if (embedding === null || embedding === undefined) return null;
  const {
    model,
    dtype = null,
    queryPrefix = null,
    passagePrefix = null,
    truncateDim = null,
    template = null,
  } = embedding;
  return {
    model,
    dtype,
    query_prefix: queryPrefix,
    passage_prefix: passagePrefix,
    truncate_dim: truncateDim,
    template,
  };
}

/** Of a body, in which what is left out is not bounded. */
function quotaOf({ items, bytes }: { items?: number | undefined; bytes?: number | undefined }): StorageQuota {
  return { items: items ?? null, bytes: bytes ?? null };
}

function statsData({ name, quantization, vectorCount, diskBytes, memoryBytes, quota, index }: CollectionStats) {
  return {
    name,
    quantization,
    vector_count: vectorCount,
    disk_bytes: diskBytes,
    memory_bytes: memoryBytes,
    quota,
    index: {
      state: index.state,
      rows: index.rows,
      rows_indexed: index.indexedRows,
      rows_refined: index.refinedRows,
      fraction: index.fraction,
      seconds_left: index.secondsLeft,
      optimizing: index.optimizing,
    },
  };
}

function purgeData({ collection, state: overall, shards }: CollectionPurge) {
  return {
    collection,
    state: overall,
    bytes_reclaimed: shards
      .flat()
      .reduce(
        (sum, { state, bytesBefore, bytesAfter }) =>
          sum + (state === 'done' ? Math.max(0, bytesBefore - bytesAfter) : 0),
        0,
      ),
    shards: shards.map((replicas, shard) => ({
      shard,
      replicas: replicas.map(({ node, state, step, bytesBefore, bytesAfter, unshipped = 0, error }) => ({
        node,
        state,
        step,
        bytes_before: bytesBefore,
        bytes_after: bytesAfter,
        unshipped_writes: unshipped,
        error,
      })),
    })),
  };
}

async function* exportPieces(
  collection: CollectionView,
  pages: AsyncIterable<VectorView[]>,
  format: VectorFormat,
): AsyncGenerator<string> {
  const head = `{"collection":${JSON.stringify(collection.name)},"dim":${collection.dim},"distance_metric":"${collection.metric}","vectors":[`;
  let count = 0;
  for await (const page of pages) {
    for (let at = 0; at < page.length; at += 1) {
      yield `${count === 0 ? head : ','}${exportedVectorJson(takenFrom(page, at), format)}`;
      count++;
    }
  }
  yield `${count === 0 ? head : ''}],"count":${count}}`;
}

export function collectionEndpoints(parts: {
  collections: CollectionsService;
  aliases: Pick<AliasesService, 'settled'> & AliasLookUp;
  vectors: Pick<VectorsService, 'export'>;
  formats: VectorFormats;
  limits: HttpLimits;
}): Endpoint[] {
  const { collections, aliases, vectors, formats, limits } = parts;
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections',
      access: 'readwrite',
      collections: { type: 'body', field: 'name', isNew: true },
      isAdministrative: true,
      tag,
      summary: 'Create a collection',
      body: {
        type: 'json',
        required: true,
        schema: schemas.newCollection(limits),
        example: { name: 'articles', dim: 3, distance_metric: 'cosine' },
      },
      answer: { type: 'data', schema: schemas.collectionAnswer },
      errors: [400, 409],
      isOnce: true,
      handle: async ({ body, key, inStore }) => {
        if (body.quota !== undefined) mustAdminister(key, body.name);
        const quota = body.quota === undefined ? undefined : quotaOf(body.quota);
        const {
          name,
          dim,
          distance_metric: metric,
          description = null,
          language = null,
          keyword_fields: keywordFields,
          keyword_positions: keywordPositions,
          synonyms,
          stop_words: stopWords,
          quantization,
          metadata,
          vectors: place,
          shards,
          replicas,
          min_in_sync: minInSync,
          ttl_seconds: ttlSeconds = null,
          embedding,
        } = body;
        const input = {
          name,
          dim,
          metric,
          description,
          language,
          keywordFields,
          keywordPositions,
          synonyms,
          stopWords,
          quantization,
          metadata,
          vectors: place,
          shards,
          replicas,
          minInSync,
          ttlSeconds,
          quota,
          ...(embedding !== undefined && { embedding: embeddingOf(embedding) }),
        };
        return dataAnswer(collectionData(await inStore((dedup) => collections.create(input, dedup))));
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/collections',
      isWatched: true,
      access: 'readonly',
      collections: { type: 'own' },
      tag,
      summary: 'List all collections that the key may use',
      answer: { type: 'data', schema: schemas.collectionsAnswer },
      handle: async ({ key, warnings }) => {
        const seeing = await seeingOf(key, aliases);
        const listed = seenBy(seeing, await collections.list(seeing));
        for (const name of await collections.unreadable(seeing))
          warnings.warn(`collection "${name}" is left out: its stored record is damaged`);
        return dataAnswer({ collections: listed.map(collectionData) });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/collections/{name}',
      isWatched: true,
      access: 'readonly',
      tag,
      summary: 'Show one collection',
      path: schemas.collectionParameters,
      answer: { type: 'data', schema: schemas.collectionAnswer },
      errors: [404],
      handle: async ({ path }) => dataAnswer(collectionData(await collections.get(path.name))),
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/collections/{name}/stats',
      isWatched: true,
      access: 'readonly',
      tag,
      summary: 'Show how far the index of a collection is built',
      path: schemas.collectionParameters,
      answer: { type: 'data', schema: schemas.collectionStats },
      errors: [404],
      handle: async ({ path }) => dataAnswer(statsData(await collections.stats(path.name))),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/optimize',
      access: 'readwrite',
      isAdministrative: true,
      tag,
      summary: 'Make the best index of the vectors that are there',
      description:
        'Removes the rows of deleted and replaced vectors, adds all others to the graph, refines them, measures ' +
        'the effort of searches anew and keeps the order of words, so that phrases need not read texts: what ' +
        'happens in the background anyway where it is worth it. Goes on after the answer as a job (`GET ' +
        '/v1/jobs?kind=optimize`); the stats show how far it is. Does nothing while one is under way.',
      path: schemas.collectionParameters,
      answer: { type: 'data', schema: schemas.collectionStats },
      errors: [404],
      handle: async ({ path }) => dataAnswer(statsData(await collections.optimize(path.name))),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/purge',
      access: 'admin',
      tag,
      summary: 'Rewrite the files, so that nothing of deleted and expired vectors is in them',
      description:
        'Goes on after the answer as a job (`GET /v1/jobs?kind=purge`), while the collection is used; GET shows how far it is. When a replica is done, no file of it holds a vector, a text or metadata that was deleted, replaced or had expired when it began. ' +
        'Backups, and what the disk keeps of blocks that were freed, are out of its reach. Where one is under ' +
        'way, another follows it. A node that is away or starts anew is waited for.',
      path: schemas.collectionParameters,
      answer: { type: 'data', schema: schemas.purgeAnswer },
      errors: [404],
      handle: async ({ path }) => dataAnswer(purgeData(await collections.purge(path.name, true))),
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/collections/{name}/purge',
      access: 'admin',
      tag,
      summary: 'Show how far a purge is',
      path: schemas.collectionParameters,
      answer: { type: 'data', schema: schemas.purgeAnswer },
      errors: [404],
      handle: async ({ path }) => dataAnswer(purgeData(await collections.purge(path.name, false))),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/quota',
      access: 'admin',
      isAdministrative: true,
      tag,
      summary: 'Set or take away the quota of a collection',
      description:
        'The quota is what the body says, and what it leaves out is not bounded. A write that would add more items or bytes is refused with 400, which names the quota and what there is; deleting goes on. What is there already stays. Close to the quota, updates of items that are there do not count as new. ' +
        'Items are exact for all writes of one process; in a cluster, what other coordinators add within a second may come on top. Bytes are those on the disk, which fall some time after items were deleted.',
      path: schemas.collectionParameters,
      body: {
        type: 'json',
        required: true,
        schema: schemas.quotaBody,
        example: { items: 1_000_000, bytes: 10_737_418_240 },
      },
      answer: { type: 'data', schema: schemas.collectionAnswer },
      errors: [404],
      isOnce: true,
      handle: async ({ path, body, inStore }) =>
        dataAnswer(collectionData(await inStore((dedup) => collections.setQuota(path.name, quotaOf(body), dedup)))),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/reshard',
      access: 'admin',
      tag,
      summary: 'Change the number of shards of a collection',
      description:
        'Goes on after the answer; `GET /v1/cluster` shows how far it is. The collection is used as before ' +
        'meanwhile, and calls wait for less than a second when its new shards take over. Until then it takes the ' +
        'room of both sets of shards.',
      path: schemas.collectionParameters,
      body: { type: 'json', required: true, schema: schemas.reshardBody, example: { shards: 8 } },
      answer: { type: 'data', schema: schemas.reshardAnswer },
      errors: [400, 404, 409],
      isOnce: true,
      handle: async ({ path, body, inStore }) =>
        dataAnswer(reshardData(await inStore((dedup) => collections.reshard(path.name, body.shards, dedup)))),
    }),
    defineEndpoint({
      method: 'DELETE',
      template: '/v1/collections/{name}/reshard',
      access: 'admin',
      tag,
      summary: 'Give up a change of the number of shards',
      description: 'The collection stays as it was. Also removes one that failed from the list in `GET /v1/cluster`.',
      path: schemas.collectionParameters,
      answer: { type: 'data', schema: schemas.reshardAnswer },
      errors: [404],
      isOnce: true,
      handle: async ({ path, inStore }) =>
        dataAnswer(reshardData(await inStore((dedup) => collections.cancelReshard(path.name, dedup)))),
    }),
    defineEndpoint({
      method: 'PATCH',
      template: '/v1/collections/{collection_name}',
      access: 'readwrite',
      isAdministrative: true,
      tag,
      summary:
        'Change the description, the time to live, the keyword fields, the synonyms or the stop words of a collection',
      description: 'What is left out stays; null clears it.',
      path: schemas.collectionNamePath,
      body: {
        type: 'json',
        required: true,
        schema: schemas.collectionChange,
        example: { description: 'Articles of the newspaper' },
      },
      answer: { type: 'data', schema: schemas.collectionAnswer },
      errors: [400, 404, 409],
      isOnce: true,
      handle: async ({ path, body, inStore }) =>
        dataAnswer(
          collectionData(
            await inStore((dedup) =>
              collections.update(
                path.collection_name,
                {
                  description: body.description,
                  ttlSeconds: body.ttl_seconds,
                  keywordFields: body.keyword_fields,
                  synonyms: body.synonyms,
                  stopWords: body.stop_words,
                },
                dedup,
              ),
            ),
          ),
        ),
    }),
    defineEndpoint({
      method: 'DELETE',
      template: '/v1/collections/{name}',
      access: 'readwrite',
      isAdministrative: true,
      tag,
      summary: 'Delete a collection with everything in it, for good',
      description: 'One that has aliases only with `force=true`; they go with it.',
      path: schemas.collectionParameters,
      query: schemas.collectionDeletion,
      answer: { type: 'data', schema: schemas.collectionDeletedAnswer },
      errors: [404, 409],
      isOnce: true,
      handle: async ({ path, query, key, about, inStore }) => {
        // Outcomes of earlier versions have none.
        const gone = (await inStore((dedup) => collections.delete(path.name, dedup, query.force, scopedOf(key)))) ?? [];
        if (gone.length > 0) {
          about(aliasTarget(gone.map((alias) => `delete ${alias}`)));
          await settled(aliases, 'the collection was deleted with its aliases');
        }
        return dataAnswer({ deleted: path.name, name: path.name, status: 'deleted' });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/collections/{collection_name}/export',
      access: 'readonly',
      tag,
      summary: 'Export vectors in insertion order',
      description:
        'The answer is streamed; a failure half-way breaks the connection off, and so does a switch to vectors of another ' +
        'model: begin again.',
      path: schemas.collectionNamePath,
      query: schemas.exportQuery,
      answer: { type: 'data', schema: schemas.exportAnswer },
      errors: [404],
      handle: async ({ path, query, hold }) => {
        const { collection, pages } = await vectors.export(path.collection_name, query.limit, hold);
        return { type: 'pieces', pieces: exportPieces(collection, pages, formats[query.vector_format]) };
      },
    }),
  ];
}
