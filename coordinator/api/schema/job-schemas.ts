import { z } from 'zod';
import { JOB_STATES } from '../../service/jobs-service';
import { collectionName, integerTextWithDefault } from '../fields/fields';

/** Some hold the name of a collection and that of a node. */
const ID_MAX = 512;
const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 100;

export const jobParameters = z.object({ id: z.string().min(1).max(ID_MAX) });

export const jobsQuery = z.object({
  kind: z.string().min(1).max(64).optional().meta({ description: 'Those of one kind, such as `backup`.' }),
  state: z.enum(JOB_STATES).optional(),
  collection: collectionName
    .optional()
    .meta({ description: 'Those that work on a collection; an alias names one, too.' }),
  limit: integerTextWithDefault(1, LIMIT_MAX, LIMIT_DEFAULT),
  cursor: z
    .string()
    .max(1024)
    .optional()
    .meta({ description: '`next_cursor` of the page before; left out for the first page.' }),
});

export const jobAnswer = z
  .object({
    id: z.string(),
    kind: z
      .string()
      .meta({ description: 'Such as `backup`, `restore`, `reshard` or `drain`; later versions have others.' }),
    state: z.enum(JOB_STATES),
    step: z.string().nullable().meta({ description: 'What it is at, in the words of its kind.' }),
    collection: z
      .string()
      .nullable()
      .meta({ description: 'The collection that it works on; null: it is about the service as a whole.' }),
    subject: z.string().meta({ description: 'What else it works on, such as the id of a backup or a node.' }),
    progress: z.number().meta({ description: 'Share of the work that is done, 0 to 1.' }),
    done: z.number().meta({ description: 'In `unit`.' }),
    total: z.number().meta({ description: '0: not known yet.' }),
    unit: z.string(),
    per_second: z.number().nullable(),
    seconds_left: z.number().nullable(),
    created_at: z.iso.datetime().nullable(),
    started_at: z.iso.datetime().nullable(),
    ended_at: z.iso.datetime().nullable(),
    error: z.string().nullable().meta({ description: 'Why it failed.' }),
    waits_for: z
      .string()
      .nullable()
      .meta({ description: 'What keeps it from getting on; it goes on by itself when that is over.' }),
    result: z.record(z.string(), z.unknown()).nullable().meta({ description: 'What came of it, by its kind.' }),
  })
  .meta({ id: 'Job' });

export const jobsAnswer = z.object({ jobs: z.array(jobAnswer), next_cursor: z.string().nullable() });
