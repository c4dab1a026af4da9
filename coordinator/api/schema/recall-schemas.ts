import { z } from 'zod';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { boundedArray, filters, integer, optional, vector, withDefault } from '../fields/fields';
import { report } from '../fields/issue';

const { recallDepthMax, recallQueriesMax, recallSamplesMax } = REQUEST_BOUNDS;

export function recallCheck(limits: HttpLimits) {
  return z
    .object({
      queries: optional(boundedArray(vector(limits.vectorDimMax), recallQueriesMax)).meta({
        description: 'Vectors to ask for, best ones that were never stored. Left out: vectors of the collection.',
      }),
      samples: optional(integer(1, recallSamplesMax)).meta({
        description: 'How many vectors of the collection are asked for; left out: 100, or fewer in a large collection.',
      }),
      seed: withDefault(integer(0, 2 ** 32 - 1), 1).meta({
        description: 'Which vectors are drawn: the same ones for the same seed, however many shards there are.',
      }),
      k: withDefault(integer(1, recallDepthMax), 10),
      filters: filters(limits),
    })
    .transform((body, context) => {
      if (body.queries !== undefined && body.samples !== undefined) {
        report(context, body, 'can’t be given together with queries', { kind: 'invalid_parameter', path: ['samples'] });
      }
      if (body.queries?.length === 0)
        report(context, body, 'must not be empty', { kind: 'invalid_parameter', path: ['queries'] });
      return body;
    });
}

const perQuery = 'Of a query, on average, over all shards';

export const recallReport = z
  .object({
    collection: z.string(),
    k: z.int(),
    queries: z.int().meta({ description: 'How many were asked: fewer than were to be, when time ran out.' }),
    recall: z.number().min(0).max(1).nullable().meta({
      description:
        'The share of the exact k nearest that calibrated searches found; null when there was nothing to find.',
    }),
    standard_error: z.number().nullable().meta({ description: 'Of the recall; null for fewer than two queries.' }),
    rows_scored: z
      .number()
      .nullable()
      .meta({
        description: `${perQuery}: rows scored by what is held of them in memory. null: a node of an earlier version did not say it.`,
      }),
    rows_rescored: z
      .number()
      .nullable()
      .meta({ description: `${perQuery}: rows scored by their original vectors.` }),
    calibrated_ms: z.number().meta({ description: `${perQuery}.` }),
    exact_ms: z.number().meta({ description: `${perQuery}.` }),
  })
  .meta({ id: 'RecallReport' });
