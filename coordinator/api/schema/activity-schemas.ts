import { z } from 'zod';

const rates = {
  per_second: z.number(),
  errors_per_second: z.number(),
  p50_ms: z.number().nullable().meta({ description: 'null: there was none.' }),
  p99_ms: z.number().nullable(),
  total: z.int().meta({ description: 'Since the process started.' }),
  errors: z.int(),
};

const slowRequest = z.object({
  at: z.iso.datetime(),
  method: z.string(),
  endpoint: z.string(),
  collection: z.string().nullable(),
  code: z.int(),
  ms: z.number(),
  key_id: z.int().nullable(),
  request_id: z.string(),
});

export const activityAnswer = z
  .object({
    process: z.object({
      id: z.string().nullable().meta({ description: 'null unless the key is an admin’s; pid, too.' }),
      pid: z.int().nullable(),
      uptime_seconds: z.number(),
      memory_bytes: z.int(),
      heap_bytes: z.int(),
      processors: z.number().meta({ description: 'How many are busy with it.' }),
    }),
    rate_seconds: z.number().meta({ description: 'The time that rates are over, up to now.' }),
    quantile_seconds: z.number().meta({ description: 'The time that p50_ms and p99_ms are over.' }),
    requests: z.object(rates),
    operations: z
      .array(z.object({ endpoint: z.string(), ...rates }))
      .meta({ description: 'Those that were called since the start, the busiest first.' }),
    embedding: z
      .array(z.object({ kind: z.string(), ...rates }))
      .meta({ description: 'Calls of the model for queries and for passages to store.' }),
    in_flight: z.int(),
    body_bytes: z.int(),
    shed_total: z.int().meta({ description: 'Requests refused because the process was busy, since it started.' }),
    slow_ms: z.number().meta({ description: 'LOG_SLOW_MS.' }),
    slow_requests: z.array(slowRequest).nullable().meta({
      description: 'The last hundred that took slow_ms or longer, the latest first; null unless the key is an admin’s.',
    }),
  })
  .meta({ id: 'Activity' });
