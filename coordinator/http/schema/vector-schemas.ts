import { z } from 'zod';
import type { VectorInput } from '../../service';
import { type HttpLimits, REQUEST_BOUNDS } from '../http-limits';
import { storedVectorAnswer, writeTiming } from './answer-fields';
import { boundedArray, collectionName, externalId, filters, includeTiming, integer, itemText, metadata, optional, requiredFilters, vector, vectorFormat, withDefault } from './fields';
import { vectorSource } from './vector-source';

const { fetchIdsMax, scrollDefault, scrollMax } = REQUEST_BOUNDS;

/** Path parameters for one vector in a collection. */
export const vectorPath = z.object({ name: collectionName, id: externalId });

function itemFields(limits: HttpLimits) {
  return {
    external_id: externalId,
    vector: optional(vector(limits.vectorDimMax)),
    text: optional(itemText(limits.textBytesMax)),
    content: optional(itemText(limits.textBytesMax)).meta({ description: 'Another name for text.' }),
    metadata: optional(metadata(limits)),
  };
}

interface GivenItem {
  external_id: string;
  vector?: Float32Array | undefined;
  text?: string | undefined;
  content?: string | undefined;
  metadata?: string | undefined;
}

function inputFromItem(item: GivenItem, context: z.core.$RefinementCtx): VectorInput {
  const text = item.text ?? item.content;
  const source = vectorSource({ vector: item.vector, text }, context);
  if (source === null) return z.NEVER;
  return { externalId: item.external_id, source, metadata: item.metadata, text };
}

export function upsertBody(limits: HttpLimits) {
  return z.object({ ...itemFields(limits), include_timing: includeTiming }).transform((body, context) => ({ item: inputFromItem(body, context), includeTiming: body.include_timing }));
}

export function bulkUpsertBody(limits: HttpLimits) {
  const item = z.object(itemFields(limits)).transform(inputFromItem);
  return {
    schema: z.object({ items: boundedArray(item, limits.batchItemsMax, 'MAX_BATCH_SIZE'), include_timing: includeTiming }),
    list: { name: 'items', lengthMax: limits.batchItemsMax, setting: 'MAX_BATCH_SIZE', elements: z.array(item) },
  };
}

export function deleteBatchBody(limits: HttpLimits) {
  return {
    schema: z.object({ external_ids: boundedArray(externalId, limits.batchItemsMax, 'MAX_BATCH_SIZE') }),
    list: { name: 'external_ids', lengthMax: limits.batchItemsMax, setting: 'MAX_BATCH_SIZE', elements: z.array(externalId) },
  };
}

export function deleteByFilterBody(limits: HttpLimits) {
  return z.object({ filters: requiredFilters(limits) });
}

export const vectorQuery = z.object({ vector_format: vectorFormat });

export const fetchBody = z.object({ ids: boundedArray(externalId, fetchIdsMax, undefined, 'schema_violation'), include_vectors: withDefault(z.boolean(), true), vector_format: vectorFormat });

export function scrollBody(limits: HttpLimits) {
  return z.object({
    cursor: optional(z.string()).meta({ description: 'next_cursor of the page before; left out for the first page.' }),
    limit: withDefault(integer(1, scrollMax), scrollDefault),
    filters: filters(limits),
    include_vectors: withDefault(z.boolean(), true),
    vector_format: vectorFormat,
  });
}

const outcome = z.object({ external_id: z.string(), status: z.enum(['inserted', 'updated']) });

export const upsertAnswer = outcome.extend({ timing_ms: writeTiming.optional() });
export const bulkUpsertAnswer = z.object({ results: z.array(outcome), timing_ms: writeTiming.optional() });
export const vectorDeletedAnswer = z.object({ deleted: z.string(), external_id: z.string(), status: z.literal('deleted') });
export const batchDeletedAnswer = z.object({
  deleted_count: z.int(),
  deleted_ids: z.array(z.string()),
  deleted: z.array(z.string()),
  not_found: z.array(z.string()),
});
export const filteredDeletedAnswer = z.object({ deleted_count: z.int() });
export const vectorAnswer = storedVectorAnswer.required({ vector: true });
export const fetchAnswer = z.object({ vectors: z.array(storedVectorAnswer) });
export const scrollAnswer = z.object({ vectors: z.array(storedVectorAnswer), next_cursor: z.string().nullable() });
