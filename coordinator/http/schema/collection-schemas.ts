import { z } from 'zod';
import { METRICS } from '../../../shared/vector/metric';
import { type HttpLimits, REQUEST_BOUNDS } from '../http-limits';
import { collectionName, integer, integerTextWithDefault, optional, withDefault } from './fields';

const { descriptionCharactersMax, exportDefault, exportMax, replicasMax, shardsMax } = REQUEST_BOUNDS;
const description = z.string().max(descriptionCharactersMax);

/** Path of everything about one collection. */
export const collectionPath = z.object({ name: collectionName });
/** The same under the name that the contract gives it for PATCH and export. */
export const collectionNamePath = z.object({ collection_name: collectionName });

export function newCollection(limits: HttpLimits) {
  return z.object({
    name: collectionName,
    dim: integer(1, limits.vectorDimMax),
    distance_metric: withDefault(z.enum(METRICS), 'cosine'),
    description: optional(description),
    shards: optional(integer(1, shardsMax)),
    replicas: optional(integer(1, replicasMax)),
    min_in_sync: optional(integer(1, replicasMax)).meta({
      description: 'Replicas that must have a write before it is acknowledged: 1 by default for up to two replicas, 2 for more; at most `replicas`.',
    }),
  });
}

/** Here null is a value: it clears the description. */
export const collectionChange = z.object({ description: description.nullable() });

export const exportQuery = z.object({ limit: integerTextWithDefault(1, exportMax, exportDefault) });

export const collectionAnswer = z
  .object({
    name: z.string(),
    dim: z.int(),
    distance_metric: z.enum(METRICS),
    description: z.string().nullable(),
    vector_count: z.int(),
    created_at: z.iso.datetime(),
    shards: z.int(),
    replicas: z.int(),
    min_in_sync: z.int(),
    embedding_model: z.string().nullable().meta({ description: 'The model of the collection’s first text; null before.' }),
  })
  .meta({ id: 'Collection' });

export const collectionsAnswer = z.object({ collections: z.array(collectionAnswer) });

export const collectionDeletedAnswer = z.object({ deleted: z.string(), name: z.string(), status: z.literal('deleted') });

export const exportAnswer = z.object({
  collection: z.string(),
  dim: z.int(),
  distance_metric: z.enum(METRICS),
  vectors: z.array(z.object({ external_id: z.string(), vector: z.array(z.number()), metadata: z.record(z.string(), z.unknown()) })),
  count: z.int(),
});
