import { z } from 'zod';
import { metadataAnswer } from '../fields/answer-fields';
import { filters, integer, withDefault } from '../fields/fields';
import type { HttpLimits } from '../requests/http-limits';

const LOOKED_AT_DEFAULT = 500;
const LOOKED_AT_MAX = 5000;
const SAMPLES_DEFAULT = 3;
const SAMPLES_MAX = 20;

export function describeBody(limits: HttpLimits) {
  return z.object({
    filters: filters(limits),
    looked_at: withDefault(integer(1, LOOKED_AT_MAX), LOOKED_AT_DEFAULT).meta({
      description: 'Items that are looked at, at most, drawn uniformly and always the same.',
    }),
    samples: withDefault(integer(0, SAMPLES_MAX), SAMPLES_DEFAULT).meta({
      description: 'Items that are shown, of these.',
    }),
  });
}

export const describeAnswer = z.object({
  name: z.string(),
  description: z.string().nullable(),
  dim: z.int(),
  distance_metric: z.string(),
  language: z.string().nullable(),
  embedding_model: z.string().nullable().meta({ description: 'The model of its texts; null before the first.' }),
  items: z.int().meta({ description: 'Items that pass the filters; without these, all.' }),
  looked_at: z.int().meta({ description: 'Items that were looked at: counts are of these.' }),
  fields: z
    .array(
      z.object({
        path: z.string(),
        kinds: z.array(z.enum(['text', 'date', 'number', 'boolean', 'list', 'object', 'null'])).meta({
          description: 'Of its values, and of the elements of its lists.',
        }),
        items: z.int().meta({ description: 'How many of the items have it.' }),
        values: z
          .array(z.object({ value: z.union([z.string(), z.number(), z.boolean()]), count: z.int() }))
          .meta({ description: 'The most frequent ones, each with how many of the items have it; no long texts.' }),
        more: z.boolean().meta({ description: 'Whether it has other values, too.' }),
        least: z.number().optional().meta({ description: 'Of its numbers.' }),
        greatest: z.number().optional(),
      }),
    )
    .meta({ description: 'Paths of the metadata, those of most items first.' }),
  samples: z.array(z.object({ external_id: z.string(), metadata: metadataAnswer, text: z.string().nullable() })),
});
