import type { VectorInput, VectorsService, VectorView } from '../../service';
import { vectorNotFound } from '../../vectors/vector-not-found';
import { listPieces, timingMember, vectorJson } from '../answer-json';
import type { VectorFormatName, VectorFormats } from '../body/vector-format';
import { dataAnswer, defineEndpoint } from '../define-endpoint';
import type { Endpoint } from '../endpoint';
import type { HttpLimits } from '../http-limits';
import { collectionParameters } from '../schema/collection-schemas';
import * as schemas from '../schema/vector-schemas';

const tag = 'Vectors';
const EXAMPLE_ITEM = { external_id: 'a-1', vector: [0.1, 0.2, 0.3], metadata: { topic: 'rivers' } };

export function vectorEndpoints(parts: { vectors: VectorsService; formats: VectorFormats; limits: HttpLimits }): Endpoint[] {
  const { vectors, formats, limits } = parts;
  const viewJson =
    (name: VectorFormatName) =>
    (view: VectorView): string =>
      vectorJson(view, formats[name]);
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/upsert',
      access: 'readwrite',
      tag,
      summary: 'Insert or update one vector',
      description: 'Give a vector or a text that the service embeds; the vector wins. Metadata or text that is left out of an update stays as stored.',
      path: collectionParameters,
      body: { type: 'json', required: true, schema: schemas.upsertBody(limits), example: EXAMPLE_ITEM },
      answer: { type: 'data', schema: schemas.upsertAnswer },
      errors: [404],
      handle: async ({ path, body }) => {
        const { statuses, timing } = await vectors.upsert(path.name, [body.item]);
        const id = JSON.stringify(body.item.externalId);
        return { type: 'data', json: `{"external_id":${id},"status":"${statuses[0]}"${timingMember(timing, body.includeTiming)}}` };
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/bulk_upsert',
      access: 'readwrite',
      tag,
      summary: 'Insert or update many vectors',
      description: 'The whole batch is checked before anything is written; one bad item refuses it all.',
      path: collectionParameters,
      body: { type: 'json', required: true, ...schemas.bulkUpsertBody(limits), example: { items: [EXAMPLE_ITEM] } },
      answer: { type: 'data', schema: schemas.bulkUpsertAnswer },
      errors: [404],
      handle: async ({ path, body }) => {
        const { statuses, timing } = await vectors.upsert(path.name, body.items);
        const outcomeJson = (item: VectorInput, i: number): string => `{"external_id":${JSON.stringify(item.externalId)},"status":"${statuses[i]}"}`;
        return { type: 'pieces', pieces: listPieces('{"results":', body.items, outcomeJson, `${timingMember(timing, body.include_timing)}}`) };
      },
    }),
    defineEndpoint({
      method: 'DELETE',
      template: '/v1/collections/{name}/delete/{id}',
      access: 'readwrite',
      tag,
      summary: 'Delete one vector',
      path: schemas.vectorPath,
      answer: { type: 'data', schema: schemas.vectorDeletedAnswer },
      errors: [404],
      handle: async ({ path }) => {
        const { deleted } = await vectors.delete(path.name, [path.id]);
        if (deleted.length === 0) throw vectorNotFound(path.name, path.id);
        return dataAnswer({ deleted: path.id, external_id: path.id, status: 'deleted' });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/delete_batch',
      access: 'readwrite',
      tag,
      summary: 'Delete many vectors',
      description: 'Ids that do not exist are skipped and listed in not_found.',
      path: collectionParameters,
      body: { type: 'json', required: true, ...schemas.deleteBatchBody(limits), example: { external_ids: ['a-1', 'a-2'] } },
      answer: { type: 'data', schema: schemas.batchDeletedAnswer },
      errors: [404],
      handle: async ({ path, body }) => {
        const { deleted, notFound: missing } = await vectors.delete(path.name, body.external_ids);
        return dataAnswer({ deleted_count: deleted.length, deleted_ids: deleted, deleted, not_found: missing });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/delete_by_filter',
      access: 'readwrite',
      tag,
      summary: 'Delete every vector whose metadata match',
      description:
        'Filters must not be empty; a document goes by {"document_id": …}. A vector that is written meanwhile may stay or go. Should a shard fail half-way (500), ' +
        'some matches are deleted and the others are as they were: repeat the call to delete the rest. deleted_count is what this call deleted.',
      path: collectionParameters,
      body: { type: 'json', required: true, schema: schemas.deleteByFilterBody(limits), example: { filters: { topic: 'rivers' } } },
      answer: { type: 'data', schema: schemas.filteredDeletedAnswer },
      errors: [404],
      handle: async ({ path, body }) => {
        const { deletedCount } = await vectors.deleteByFilter(path.name, body.filters);
        return dataAnswer({ deleted_count: deletedCount });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/collections/{name}/vectors/{id}',
      access: 'readonly',
      tag,
      summary: 'Show one stored vector',
      path: schemas.vectorPath,
      query: schemas.vectorQuery,
      answer: { type: 'data', schema: schemas.vectorAnswer },
      errors: [404],
      handle: async ({ path, query }) => {
        const [view] = await vectors.fetch(path.name, [path.id], { vectors: true });
        if (view === undefined) throw vectorNotFound(path.name, path.id);
        return { type: 'data', json: vectorJson(view, formats[query.vector_format]) };
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/vectors/fetch',
      access: 'readonly',
      tag,
      summary: 'Fetch stored vectors by id',
      description: 'In the order asked, missing ones left out.',
      path: collectionParameters,
      body: { type: 'json', required: true, schema: schemas.fetchBody, example: { ids: ['a-1'], include_vectors: true } },
      answer: { type: 'data', schema: schemas.fetchAnswer },
      errors: [404],
      handle: async ({ path, body }) => {
        const views = await vectors.fetch(path.name, body.ids, { vectors: body.include_vectors });
        return { type: 'pieces', pieces: listPieces('{"vectors":', views, viewJson(body.vector_format), '}') };
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/scroll',
      access: 'readonly',
      tag,
      summary: 'Read a collection page by page, in insertion order',
      description: 'A cursor stays valid while the collection changes; next_cursor is null at the end.',
      path: collectionParameters,
      body: { type: 'json', required: false, schema: schemas.scrollBody(limits), example: { limit: 100, include_vectors: false } },
      answer: { type: 'data', schema: schemas.scrollAnswer },
      errors: [404],
      handle: async ({ path, body }) => {
        const { vectors: views, nextCursor } = await vectors.scroll(path.name, {
          cursor: body.cursor ?? null,
          limit: body.limit,
          filter: body.filters,
          vectors: body.include_vectors,
        });
        return { type: 'pieces', pieces: listPieces('{"vectors":', views, viewJson(body.vector_format), `,"next_cursor":${JSON.stringify(nextCursor)}}`) };
      },
    }),
  ];
}
