import { z } from 'zod';
import type { MetadataPatch } from '../../../shared/contract/shard/shard-client';
import type { VectorInput } from '../../service/service';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { itemVersion, storedVectorAnswer, writeTiming } from '../fields/answer-fields';
import { commonItem } from '../fields/common-item';
import { expectedVersion, ifVersion, ifVersionText, onlyIf } from '../fields/condition';
import { expiresAt } from '../fields/expiry';
import {
  boundedArray,
  collectionName,
  externalId,
  filters,
  includeTiming,
  integer,
  itemText,
  metadata,
  optional,
  requiredFilters,
  vector,
  vectorFormat,
  withDefault,
} from '../fields/fields';
import { report } from '../fields/issue';
import { orderBy } from './search-options';
import { vectorSource } from '../fields/vector-source';

const { externalIdCharactersMax, fetchIdsMax, metadataDepthMax, scrollDefault, scrollMax } = REQUEST_BOUNDS;

/** Path parameters for one vector in a collection. */
export const vectorPath = z.object({ name: collectionName, id: externalId });

const vectorModel = optional(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax)).meta({
  description: 'The model that the vector is of. If the collection’s is another one, it is refused (409).',
});

function itemFields(limits: HttpLimits) {
  return {
    external_id: externalId,
    vector: optional(vector(limits.vectorDimMax)),
    vector_model: vectorModel,
    text: optional(itemText(limits.textBytesMax)),
    content: optional(itemText(limits.textBytesMax)).meta({ description: 'Another name for text.' }),
    metadata: optional(metadata(limits)),
    expires_at: expiresAt,
    if_version: ifVersion,
    only_if: onlyIf,
  };
}

interface GivenItem {
  external_id: string;
  vector?: Float32Array | undefined;
  vector_model?: string | undefined;
  text?: string | undefined;
  content?: string | undefined;
  metadata?: string | undefined;
  expires_at?: number | null | undefined;
  if_version?: number | undefined;
  only_if?: 'absent' | 'present' | undefined;
}

function inputFromItem(item: GivenItem, context: z.core.$RefinementCtx): VectorInput {
  const text = item.text ?? item.content;
  const source = vectorSource({ vector: item.vector, text }, context);
  if (source === null) return z.NEVER;
  const expected = expectedVersion(item, context);
  const input: VectorInput = {
    externalId: item.external_id,
    source,
    metadata: item.metadata,
    text,
    ...(item.expires_at !== undefined && { expiresAt: item.expires_at }),
    ...(item.vector_model !== undefined && { vectorModel: item.vector_model }),
  };
  return expected === undefined ? input : { ...input, expected };
}

export function upsertBody(limits: HttpLimits) {
  return z
    .object({ ...itemFields(limits), include_timing: includeTiming })
    .transform((body, context) => ({ item: inputFromItem(body, context), includeTiming: body.include_timing }));
}

const onError = withDefault(z.enum(['fail', 'skip']), 'fail').meta({
  description:
    'fail: an item that is not valid, of another dimension, or not as its if_version or only_if says keeps all from being written. skip: only itself, and its result says why. ' +
    'What concerns the whole request, its size for example, refuses it all.',
});

export function bulkUpsertBody(limits: HttpLimits) {
  const item = z.object(itemFields(limits)).transform(inputFromItem);
  return {
    schema: z.object({
      items: boundedArray(item, limits.batchItemsMax, 'MAX_BATCH_SIZE'),
      on_error: onError,
      include_timing: includeTiming,
    }),
    list: {
      name: 'items',
      lengthMax: limits.batchItemsMax,
      setting: 'MAX_BATCH_SIZE',
      elements: z.array(item),
      common: commonItem(limits),
      encodes: {
        metadataBytesMax: limits.metadataBytesMax,
        metadataFieldsMax: limits.metadataFieldsMax,
        metadataDepthMax,
        externalIdCharactersMax,
      },
      keepsRefused: (body: Record<string, unknown>) => body.on_error === 'skip',
    },
  };
}

/** The query of a deletion of one vector. */
export const deleteQuery = z.object({ if_version: ifVersionText });

const ifVersions = (limits: HttpLimits) =>
  optional(boundedArray(integer(1, Number.MAX_SAFE_INTEGER).nullable(), limits.batchItemsMax, 'MAX_BATCH_SIZE')).meta({
    description:
      'The versions that the vectors must have, in the order of external_ids; null: any. One that has another ' +
      'keeps all from being deleted (409).',
  });

export function deleteBatchBody(limits: HttpLimits) {
  return {
    schema: z.object({
      external_ids: boundedArray(externalId, limits.batchItemsMax, 'MAX_BATCH_SIZE'),
      if_versions: ifVersions(limits),
    }),
    list: {
      name: 'external_ids',
      lengthMax: limits.batchItemsMax,
      setting: 'MAX_BATCH_SIZE',
      elements: z.array(externalId),
    },
  };
}

export function deleteByFilterBody(limits: HttpLimits) {
  return z.object({ filters: requiredFilters(limits) });
}

export const vectorQuery = z.object({ vector_format: vectorFormat });

/** A merge patch, or whole metadata, as the shards take it. */
function metadataPatch(json: string, replaces: boolean, limits: HttpLimits): MetadataPatch {
  return { json, replaces, bytesMax: limits.metadataBytesMax, fieldsMax: limits.metadataFieldsMax };
}

export function patchBody(limits: HttpLimits) {
  return z
    .object({
      metadata: optional(metadata(limits)).meta({
        description: 'A JSON Merge Patch (RFC 7396): members are put, objects merged, and what is null is taken away.',
      }),
      metadata_mode: withDefault(z.enum(['merge', 'replace']), 'merge').meta({
        description: 'replace: metadata is what the vector has afterwards.',
      }),
      text: optional(itemText(limits.textBytesMax)).meta({
        description: 'The vector is made anew of it, if it was made of the former text and none is given.',
      }),
      embed: optional(z.boolean()).meta({
        description:
          'true: the vector is made of the text, wherever the former one came from. false: it stays, and a ' +
          'warning says so. Left out: as text says.',
      }),
      vector: optional(vector(limits.vectorDimMax)),
      vector_model: vectorModel,
      expires_at: expiresAt,
      if_version: ifVersion,
    })
    .transform((body, context) => {
      const { vector: given, text, embed, metadata: json, if_version: expected, expires_at: expiry } = body;
      if (given === undefined && text === undefined && json === undefined && expiry === undefined)
        report(context, body, 'must have metadata, text, vector or expires_at', {
          wanted: ['metadata', 'text', 'vector', 'expires_at'],
        });
      if (embed === true && (text === undefined || text.trim() === '' || given !== undefined))
        report(context, body, 'needs a text, and no vector', { path: ['embed'] });
      const patched = json === undefined ? undefined : metadataPatch(json, body.metadata_mode === 'replace', limits);
      const { vector_model: model } = body;
      return {
        vector: given,
        vectorModel: model,
        text,
        embeds: embed,
        metadata: patched,
        expected,
        expiresAt: expiry,
      };
    });
}

const METADATA_NAMES_MAX = 1000;

export function updateByFilterBody(limits: HttpLimits) {
  return z
    .object({
      filters: requiredFilters(limits),
      set: optional(metadata(limits)).meta({
        description: 'Members that the metadata get; objects are merged with those that are there.',
      }),
      unset: withDefault(boundedArray(z.string(), METADATA_NAMES_MAX), []).meta({
        description: 'Names of members that are taken away, of the metadata themselves: a dot is a part of a name.',
      }),
      expires_at: expiresAt,
    })
    .transform((body, context) => {
      const set = body.set === undefined ? {} : (JSON.parse(body.set) as Record<string, unknown>);
      const isUnchanged = body.unset.length === 0 && Object.keys(set).length === 0;
      if (isUnchanged && body.expires_at === undefined)
        report(context, body, 'must have set, unset or expires_at', { wanted: ['set', 'unset', 'expires_at'] });
      if (hasNull(set)) report(context, body, 'must hold no null: unset takes members away', { path: ['set'] });
      const both = body.unset.find((name) => Object.hasOwn(set, name));
      if (both !== undefined)
        report(context, body, `names ${JSON.stringify(both)}, which set has, too`, { path: ['unset'] });
      const patch = Object.fromEntries([...Object.entries(set), ...body.unset.map((name) => [name, null] as const)]);
      return {
        filters: body.filters,
        change: {
          metadata: isUnchanged ? undefined : metadataPatch(JSON.stringify(patch), false, limits),
          expiresAt: body.expires_at,
        },
      };
    });
}

/** Whether an object, or one in it, has a member that is null. */
function hasNull(value: unknown): boolean {
  return value === null || (typeof value === 'object' && !Array.isArray(value) && Object.values(value).some(hasNull));
}

export const fetchBody = z.object({
  ids: boundedArray(externalId, fetchIdsMax, undefined, 'schema_violation'),
  include_vectors: withDefault(z.boolean(), true),
  vector_format: vectorFormat,
});

export function scrollBody(limits: HttpLimits) {
  return z.object({
    cursor: optional(z.string()).meta({ description: 'next_cursor of the page before; left out for the first page.' }),
    limit: withDefault(integer(1, scrollMax), scrollDefault),
    filters: filters(limits),
    order_by: orderBy.meta({
      description:
        'Vectors come by values of their metadata instead: numbers, texts, false, true; equal ones by ' +
        'external_id. An array counts by its least value, or with "desc" by its greatest.',
    }),
    include_vectors: withDefault(z.boolean(), true),
    vector_format: vectorFormat,
  });
}

const outcome = z.object({
  external_id: z.string(),
  status: z.enum(['inserted', 'updated']),
  version: itemVersion.optional(),
});

export const upsertAnswer = outcome.extend({ timing_ms: writeTiming.optional() });
/** Texts of one call: those of a search with all of its queries and legs are more. */
const EMBEDDED_TEXTS_MAX = 100;

export function embedBody(limits: HttpLimits) {
  const text = itemText(limits.textBytesMax);
  const lengthMax = EMBEDDED_TEXTS_MAX;
  return {
    schema: z.object({
      texts: boundedArray(text, lengthMax),
      kind: withDefault(z.enum(['query', 'passage']), 'query').meta({
        description:
          'query: as searches look for a text; passage: as it is stored. Some models make other vectors of it.',
      }),
    }),
    list: { name: 'texts', lengthMax, elements: z.array(text) },
  };
}

export const embedAnswer = z.object({
  embedding_model: z.string().nullable().meta({
    description: 'The collection’s; null: no text of it was stored yet, and the default model made them.',
  }),
  vectors: z.array(z.array(z.number())).meta({ description: 'In the order of the texts.' }),
});

const bulkOutcome = outcome.extend({
  external_id: z.string().nullable().meta({ description: 'null for a skipped item that has none.' }),
  status: z.enum(['inserted', 'updated', 'conflict', 'invalid']),
  index: z.int().optional().meta({ description: 'The place in items; present for an item that was skipped.' }),
  error: z.object({ code: z.int(), message: z.string() }).optional().meta({
    description: 'Why the item was skipped. version is then that of the vector that is there, of a conflict.',
  }),
});
export const bulkUpsertAnswer = z.object({ results: z.array(bulkOutcome), timing_ms: writeTiming.optional() });
export const vectorDeletedAnswer = z.object({
  deleted: z.string(),
  external_id: z.string(),
  status: z.literal('deleted'),
});
export const batchDeletedAnswer = z.object({
  deleted_count: z.int(),
  deleted_ids: z.array(z.string()),
  deleted: z.array(z.string()),
  not_found: z.array(z.string()),
});
export const patchedAnswer = z.object({
  external_id: z.string(),
  status: z.literal('updated'),
  version: itemVersion.optional(),
});
export const filteredUpdatedAnswer = z.object({ updated_count: z.int() });
export const filteredDeletedAnswer = z.object({ deleted_count: z.int() });
export const vectorAnswer = storedVectorAnswer.required({ vector: true });
export const fetchAnswer = z.object({ vectors: z.array(storedVectorAnswer) });
export const scrollAnswer = z.object({ vectors: z.array(storedVectorAnswer), next_cursor: z.string().nullable() });
