import { z } from 'zod';
import { SAMPLE_SEEDS } from '../../../shared/contract/shard/sample-key';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { metadataAnswer } from '../fields/answer-fields';
import { filters, integer, metadataFields, optional, withDefault } from '../fields/fields';

const { projectionDimensionsMax, sampleDefault, sampleMax } = REQUEST_BOUNDS;

const projection = z.object({
  method: z.enum(['pca']).meta({
    description:
      'Principal component analysis: the axes along which the vectors vary most. For the metric cosine, of the vectors’ directions.',
  }),
  dimensions: integer(1, projectionDimensionsMax),
});

export function sampleBody(limits: HttpLimits) {
  return z.object({
    size: withDefault(integer(1, sampleMax), sampleDefault),
    seed: withDefault(integer(0, SAMPLE_SEEDS - 1), 0).meta({
      description: 'The same seed gives the same sample, and a larger sample with it holds the smaller one.',
    }),
    filters: filters(limits),
    metadata_fields: metadataFields.meta({
      description: 'Paths of the metadata to be answered, such as "author.name". Left out: all; []: none.',
    }),
    include_vectors: withDefault(z.boolean(), false),
    vector_format: withDefault(z.enum(['base64']), 'base64').meta({
      description: 'The only form in which a sample has vectors: one text for all of them.',
    }),
    projection: optional(projection),
  });
}

const base64Floats = z
  .string()
  .meta({ contentEncoding: 'base64', description: 'Little-endian float32 values, row-major, in the order of items.' });
const format = z.literal('base64_float32');

export const sampleAnswer = z
  .object({
    size: z.int(),
    population: z.int().meta({ description: 'Items that match.' }),
    seed: z.int(),
    items: z.array(z.object({ external_id: z.string(), metadata: metadataAnswer })),
    vectors: z.object({ format, count: z.int(), dimensions: z.int(), data: base64Floats }).optional(),
    projection: z
      .object({
        method: z.literal('pca'),
        dimensions: z.int(),
        format,
        explained_variance: z
          .array(z.number())
          .meta({ description: 'Share of the variance along each axis, 0 to 1, falling.' }),
        bounds: z
          .object({ minimum: z.array(z.number()), maximum: z.array(z.number()) })
          .meta({ description: 'Of the coordinates along each axis; empty without items.' }),
        data: base64Floats,
      })
      .optional(),
  })
  .meta({ id: 'Sample' });
