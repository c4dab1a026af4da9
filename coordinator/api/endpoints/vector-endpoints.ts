import type {
  KeptVector,
  SearchService,
  UpsertResult,
  VectorInput,
  VectorsService,
  VectorView,
} from '../../service/service';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { isLonger } from '../fields/fields';
import { ownTurn } from '../../../shared/base/time/work-slices';
import type { Once } from '../../service/idempotency/write-dedup';
import { writerOf } from '../../service/keys/caller';
import { EncodedUpserts } from '../../service/vectors/encoded-upserts';
import { conflictText } from '../../service/vectors/item-writes';
import { vectorNotFound } from '../../service/vectors/vector-not-found';
import { listPieces, pagedPieces, timingMember, vectorJson, versionMember } from '../answers/answer-json';
import type { VectorFormatName, VectorFormats } from '../body/vector-format';
import { warnOfCutTexts, warnOfZeroVectors } from '../answers/vector-remarks';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import { FilterDoubts, orderingFields } from '../answers/filter-doubts';
import type { HttpLimits } from '../requests/http-limits';
import type { RequestWarnings } from '../requests/request-warnings';
import { collectionParameters } from '../schema/collection-schemas';
import { RefusedElement } from '../fields/issue';
import * as schemas from '../schema/vector-schemas';

/** What takes long to make JSON of. */
const LONG_ITEM_CHARACTERS = 16 * 1024;

const tag = 'Vectors';
/** What is told of a vector that stayed although its text changed. */
const KEPT_VECTOR: Record<KeptVector, string> = {
  asked: 'the vector stays as it was (embed: false): searches by vector still find it by its former text',
  given: 'the vector stays as it was: it was not made of the former text; with embed: true, it is made of the new one',
  blank: 'the vector stays as it was: none can be made of a blank text',
};
const EXAMPLE_ITEM = { external_id: 'a-1', vector: [0.1, 0.2, 0.3], metadata: { topic: 'rivers' } };

export function vectorEndpoints(parts: {
  vectors: VectorsService;
  search: SearchService;
  formats: VectorFormats;
  limits: HttpLimits;
}): Endpoint[] {
  const { vectors, formats, limits } = parts;
  const doubts = new FilterDoubts(parts.search);
  const viewJson =
    (name: VectorFormatName) =>
    (view: VectorView): string =>
      vectorJson(view, formats[name]);
  // Where nothing is refused, the shards need not be asked.
  const mayBeRepeated = async (name: string, once: Once | undefined, { isStrict }: RequestWarnings): Promise<boolean> =>
    once !== undefined && (!isStrict || (await vectors.isBegun(name, once)));
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/upsert',
      access: 'readwrite',
      isOnce: true,
      tag,
      summary: 'Insert or update one vector',
      description:
        'Give a vector or a text that the service embeds; the vector wins. Metadata or text that is left out of an update stays as stored. With if_version or only_if, ' +
        'it is done only if the stored vector is as they say; the error 409 has its present version in conflicts.',
      path: collectionParameters,
      body: { type: 'json', required: true, schema: schemas.upsertBody(limits), example: EXAMPLE_ITEM },
      answer: { type: 'data', schema: schemas.upsertAnswer },
      errors: [404, 409],
      handle: async ({ path, body, key, once, warnings }) => {
        const result = await vectors.upsert(path.name, [body.item], { isSingle: true, once, writer: writerOf(key) });
        const { statuses, versions, timing } = result;
        warnOfCutTexts(result, warnings);
        warnOfZeroVectors(result.zeros, warnings);
        const id = JSON.stringify(body.item.externalId);
        return {
          type: 'data',
          json: `{"external_id":${id},"status":"${statuses[0]}"${versionMember(versions[0])}${timingMember(timing, body.includeTiming)}}`,
        };
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/bulk_upsert',
      access: 'readwrite',
      isOnce: true,
      tag,
      summary: 'Insert or update many vectors',
      description:
        'The whole batch is checked before anything is written; one bad item refuses it all. So does one that is not as its if_version or only_if says (409), unless on_error is skip: then its result tells why it was skipped. ' +
        'Should another change come in between, the error tells which vectors of other shards were written.',
      path: collectionParameters,
      body: { type: 'json', required: true, ...schemas.bulkUpsertBody(limits), example: { items: [EXAMPLE_ITEM] } },
      answer: { type: 'data', schema: schemas.bulkUpsertAnswer },
      errors: [404, 409],
      handle: async ({ path, body, key, once, warnings }) => {
        const given: readonly (VectorInput | RefusedElement)[] | EncodedUpserts = body.items;
        const options = { skips: body.on_error === 'skip', once, writer: writerOf(key) };
        if (given instanceof EncodedUpserts) {
          const { ids, result: written } = await vectors.upsertEncoded(path.name, given, options);
          warnOfZeroVectors(written.zeros, warnings, (index) => `items[${index}]`);
          const outcomeJson = (externalId: string, i: number): string => bulkOutcomeJson({ externalId }, i, written, i);
          return {
            type: 'pieces',
            pieces: listPieces(
              '{"results":',
              ids,
              outcomeJson,
              `${timingMember(written.timing, body.include_timing)}}`,
            ),
          };
        }
        const items = given;
        const places: number[] = [];
        const valid: VectorInput[] = [];
        for (let i = 0; i < items.length; i++) {
          const item = items[i];
          if (item instanceof RefusedElement) continue;
          places.push(i);
          valid.push(item);
        }
        const result = await vectors.upsert(path.name, valid, { ...options, places });
        warnOfCutTexts(result, warnings, (index) => `items[${places[index]}]`);
        warnOfZeroVectors(result.zeros, warnings, (index) => `items[${places[index]}]`);
        let next = 0;
        const outcomeJson = (item: VectorInput | RefusedElement, i: number): string =>
          item instanceof RefusedElement ? invalidJson(item, i) : bulkOutcomeJson(item, i, result, next++);
        return {
          type: 'pieces',
          pieces: listPieces('{"results":', items, outcomeJson, `${timingMember(result.timing, body.include_timing)}}`),
        };
      },
    }),
    defineEndpoint({
      method: 'DELETE',
      template: '/v1/collections/{name}/delete/{id}',
      access: 'readwrite',
      isOnce: true,
      tag,
      summary: 'Delete one vector',
      description:
        'With if_version, only if the vector has this version; the error 409 has the present one in conflicts.',
      path: schemas.vectorPath,
      query: schemas.deleteQuery,
      answer: { type: 'data', schema: schemas.vectorDeletedAnswer },
      errors: [404, 409],
      handle: async ({ path, query, once }) => {
        const { deleted } = await vectors.delete(
          path.name,
          [path.id],
          query.if_version === undefined ? undefined : new Map([[path.id, query.if_version]]),
          once,
        );
        if (deleted.length === 0) throw vectorNotFound(path.name, path.id);
        return dataAnswer({ deleted: path.id, external_id: path.id, status: 'deleted' });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/delete_batch',
      access: 'readwrite',
      isOnce: true,
      tag,
      summary: 'Delete many vectors',
      description: 'Ids that do not exist are skipped and listed in not_found.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: true,
        ...schemas.deleteBatchBody(limits),
        example: { external_ids: ['a-1', 'a-2'] },
      },
      answer: { type: 'data', schema: schemas.batchDeletedAnswer },
      errors: [404, 409],
      handle: async ({ path, body, once }) => {
        const { deleted, notFound: missing } = await vectors.delete(
          path.name,
          body.external_ids,
          expectedVersions(body.external_ids, body.if_versions),
          once,
        );
        return dataAnswer({ deleted_count: deleted.length, deleted_ids: deleted, deleted, not_found: missing });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/delete_by_filter',
      access: 'readwrite',
      isOnce: true,
      tag,
      summary: 'Delete every vector whose metadata match',
      description:
        'Filters must not be empty; a document goes by {"document_id": …}. A vector that is written meanwhile may stay or go. Should a shard fail half-way (500), ' +
        'some matches are deleted and the others are as they were: repeat the call to delete the rest. ' +
        'deleted_count is what this call deleted.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: true,
        schema: schemas.deleteByFilterBody(limits),
        example: { filters: { topic: 'rivers' } },
      },
      answer: { type: 'data', schema: schemas.filteredDeletedAnswer },
      errors: [404],
      handle: async ({ path, body, once, warnings }) => {
        const done = await onceLooked(
          () => doubts.look({ collection: path.name, filter: body.filters, hasHits: false }, warnings),
          () => vectors.deleteByFilter(path.name, body.filters, once),
          {
            isRepeated: () => mayBeRepeated(path.name, once, warnings),
            isNothing: ({ deletedCount: count }) => count === 0,
          },
        );
        const { deletedCount } = done;
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
      handle: async ({ path, query, hold }) => {
        for await (const [view] of await vectors.fetch(path.name, [path.id], { vectors: true, hold })) {
          if (view === undefined) continue;
          // Many may have been read in this round.
          const turn = view.metadata.length + (view.text?.length ?? 0) > LONG_ITEM_CHARACTERS ? ownTurn() : undefined;
          if (turn !== undefined) await turn;
          return { type: 'data', json: vectorJson(view, formats[query.vector_format]) };
        }
        throw vectorNotFound(path.name, path.id);
      },
    }),
    defineEndpoint({
      method: 'PATCH',
      template: '/v1/collections/{name}/vectors/{id}',
      access: 'readwrite',
      isOnce: true,
      tag,
      summary: 'Change parts of one vector',
      description:
        'What is left out stays: metadata are merged at the moment of the write, and the vector need not be sent. A new text gets a new vector if the former one was made of its text. With if_version, only if the vector has this version (409).',
      path: schemas.vectorPath,
      body: {
        type: 'json',
        required: true,
        schema: schemas.patchBody(limits),
        example: { metadata: { topic: 'lakes', draft: null } },
      },
      answer: { type: 'data', schema: schemas.patchedAnswer },
      errors: [404, 409],
      handle: async ({ path, body, key, once, warnings }) => {
        const result = await vectors.patch(
          path.name,
          { externalId: path.id, ...body },
          { once, writer: writerOf(key) },
        );
        const { version, kept } = result;
        if (kept !== null) warnings.warn(KEPT_VECTOR[kept]);
        warnOfCutTexts(result, warnings);
        warnOfZeroVectors(result.zeros, warnings);
        return {
          type: 'data',
          json: `{"external_id":${JSON.stringify(path.id)},"status":"updated"${versionMember(version)}}`,
        };
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/update_by_filter',
      access: 'readwrite',
      isOnce: true,
      tag,
      summary: 'Change the metadata of every vector whose metadata match',
      description:
        'Each match is changed once, if it still matches at that moment; one that is written meanwhile may be or not. updated_count is exact. Should a shard fail half-way (500), or metadata ' +
        'become too many (400), the error says how many were changed; the others are as they were.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: true,
        schema: schemas.updateByFilterBody(limits),
        example: { filters: { topic: 'rivers' }, set: { reviewed: true }, unset: ['draft'] },
      },
      answer: { type: 'data', schema: schemas.filteredUpdatedAnswer },
      errors: [404],
      handle: async ({ path, body, key, once, warnings }) => {
        const { updatedCount } = await onceLooked(
          () => doubts.look({ collection: path.name, filter: body.filters, hasHits: false }, warnings),
          () => vectors.updateByFilter(path.name, body.filters, body.change, { once, writer: writerOf(key) }),
          {
            isRepeated: () => mayBeRepeated(path.name, once, warnings),
            isNothing: ({ updatedCount: count }) => count === 0,
          },
        );
        return dataAnswer({ updated_count: updatedCount });
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
      body: {
        type: 'json',
        required: true,
        schema: schemas.fetchBody,
        example: { ids: ['a-1'], include_vectors: true },
      },
      answer: { type: 'data', schema: schemas.fetchAnswer },
      errors: [404],
      handle: async ({ path, body, hold }) => {
        const pages = await vectors.fetch(path.name, body.ids, { vectors: body.include_vectors, hold });
        return { type: 'pieces', pieces: pagedPieces('{"vectors":', pages, viewJson(body.vector_format), () => '}') };
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/embed',
      access: 'readonly',
      tag,
      summary: 'Make vectors of texts, as the collection does',
      description:
        'By its model, with the prefixes of its `embedding`. Nothing is stored. The texts are all that vectors are made of: where the collection has an `embedding.template`, fill it in yourself.',
      clientMethod: 'embed',
      path: collectionParameters,
      body: { type: 'json', required: true, ...schemas.embedBody(limits), example: { texts: ['long rivers'] } },
      answer: { type: 'data', schema: schemas.embedAnswer },
      errors: [404],
      handle: async ({ path, body, warnings, hold }) => {
        if (body.kind === 'query') mustBeSearchTexts(body.texts, limits.searchTextLengthMax);
        const embedded = await parts.search.embed(path.name, body.texts, body.kind);
        hold.keep(embedded.vectors.reduce((sum, { byteLength }) => sum + byteLength, 0));
        warnOfCutTexts(embedded, warnings, (index) => `texts[${index}]`);
        const head = `{"embedding_model":${JSON.stringify(embedded.model)},"vectors":`;
        return { type: 'pieces', pieces: listPieces(head, embedded.vectors, formats.array, '}') };
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/collections/{name}/scroll',
      access: 'readonly',
      tag,
      summary: 'Read a collection page by page, in insertion order or by values of metadata',
      description:
        'A cursor stays valid while the collection changes; next_cursor is null at the end, and only there: a ' +
        'page ends at `limit` vectors, or before that soon after 16 MiB of them.',
      path: collectionParameters,
      body: {
        type: 'json',
        required: false,
        schema: schemas.scrollBody(limits),
        example: { limit: 100, include_vectors: false },
      },
      answer: { type: 'data', schema: schemas.scrollAnswer },
      errors: [404],
      handle: async ({ path, body, hold, warnings }) => {
        // Later pages have nothing to tell.
        if (body.cursor === undefined) {
          const named = orderingFields(body.order_by);
          await doubts.look({ collection: path.name, filter: body.filters, hasHits: false, named }, warnings);
        }
        const { pages, nextCursor } = await vectors.scroll(path.name, {
          cursor: body.cursor ?? null,
          limit: body.limit,
          filter: body.filters,
          vectors: body.include_vectors,
          order: body.order_by,
          hold,
        });
        return {
          type: 'pieces',
          pieces: pagedPieces(
            '{"vectors":',
            pages,
            viewJson(body.vector_format),
            () => `,"next_cursor":${JSON.stringify(nextCursor())}}`,
          ),
        };
      },
    }),
  ];
}

/**
 * Writes by a filter that was looked at before, so that a strict request is refused before anything is done. The fields
 * may be gone by an earlier time under the same Idempotency-Key: what was begun then is looked at afterwards, where
 * nothing was done.
 */
async function onceLooked<Done>(
  look: () => Promise<void> | undefined,
  write: () => Promise<Done>,
  { isRepeated, isNothing }: { isRepeated: () => Promise<boolean>; isNothing: (done: Done) => boolean },
): Promise<Done> {
  const isLater = await isRepeated();
  if (!isLater) await look();
  const done = await write();
  if (isLater && isNothing(done)) await look();
  return done;
}

/**
 * What became of an item of a bulk, the one at `place` of those that were written; one that was skipped says why, and
 * where it is.
 */
function bulkOutcomeJson(
  { externalId, expected }: Pick<VectorInput, 'externalId' | 'expected'>,
  index: number,
  { statuses, versions, errors }: UpsertResult,
  place: number,
): string {
  const head = `{"external_id":${JSON.stringify(externalId)},"status":"${statuses[place]}"${versionMember(versions[place])}`;
  if (statuses[place] === 'conflict')
    return `${head}${skippedMembers(index, 409, conflictText({ externalId, expected }, versions[place]))}}`;
  const error = errors.get(place);
  return error === undefined ? `${head}}` : `${head}${skippedMembers(index, error.code, error.message)}}`;
}

/** An item that is not even one. */
function invalidJson({ error, value }: RefusedElement, index: number): string {
  const id = (value as { external_id?: unknown } | null)?.external_id;
  return `{"external_id":${typeof id === 'string' ? JSON.stringify(id) : 'null'},"status":"invalid"${skippedMembers(index, error.code, error.message)}}`;
}

function skippedMembers(index: number, code: number, message: string): string {
  return `,"index":${index},"error":${JSON.stringify({ code, message })}`;
}

/** By id. Errors: invalid_parameter. */
function expectedVersions(
  ids: string[],
  versions: (number | null)[] | undefined,
): ReadonlyMap<string, number> | undefined {
  if (versions === undefined) return undefined;
  if (versions.length !== ids.length)
    throw new QuiverError(
      'invalid_parameter',
      `if_versions has ${versions.length} elements, and external_ids ${ids.length}`,
    );
  const expected = new Map<string, number>();
  ids.forEach((id, i) => {
    const version = versions[i];
    if (version === null) return;
    if ((expected.get(id) ?? version) !== version)
      throw new QuiverError('invalid_parameter', `if_versions has two versions for external_id ${JSON.stringify(id)}`);
    expected.set(id, version);
  });
  return expected;
}

/** Errors: limit_exceeded and invalid_parameter for a text that no search may look for. */
function mustBeSearchTexts(texts: readonly string[], charactersMax: number): void {
  for (const [i, text] of texts.entries()) {
    if (text.trim() === '')
      throw new QuiverError('invalid_parameter', `texts[${i}] must not be empty: no search looks for that`);
    if (isLonger(text, charactersMax))
      throw new QuiverError(
        'limit_exceeded',
        `texts[${i}] exceeds the maximum length of ${charactersMax} characters of a query (MAX_SEARCH_TEXT_LENGTH)`,
      );
  }
}
