import { z } from 'zod';
import type { SearchRequest } from '../../service/search-request';
import { JUDGEMENTS_BYTES_MAX, JUDGEMENTS_MAX } from '../../service/judgements/stored-judgements';
import type { JudgedQuery } from '../../service/judgements-service';
import { boundedArray, boundedText, collectionName, idViolation, integer, withDefault } from '../fields/fields';
import { valueHint } from '../fields/field-hints';
import { type IssueSink, report, validate } from '../fields/issue';
import { requestFieldsOf } from '../fields/request-fields';
import type { HttpLimits } from '../requests/http-limits';
import { toldOptions } from './search-options';
import { queryBody } from './search-schemas';

const QUERIES_MAX = 1_000;
const GRADED_MAX = 1_000;
const GRADE_MAX = 1_000;
const VARIANTS_MAX = 16;
/** They lie in the record of the job, which stays for days. */
const VARIANTS_BYTES_MAX = 32 * 1024;
const EVALUATED_HITS_MAX = 100;
const EVALUATED_HITS = 10;
const NAME_MAX = 100;
/** What an evaluation says itself, and what is no list of hits; so is what is told of hits alone no variant. */
const NO_VARIANT: readonly string[] = [
  'query',
  'collection_name',
  'top_k',
  'offset',
  'cursor',
  'include_timing',
  'group_by',
  'group_size',
  'group_missing',
];

export const judgementsParameters = z.object({
  name: collectionName,
  id: collectionName.meta({ description: 'The name of the judgements.' }),
});

/** Grades by id: any id can be one, so it becomes no object with prototypes. */
const relevant = z
  .record(z.string(), z.number().min(0).max(GRADE_MAX))
  .transform((given, context) => {
    const grades = new Map(Object.entries(given));
    for (const id of grades.keys()) {
      const violation = idViolation(id);
      if (violation !== null) report(context, given, `has an id that ${violation}`);
    }
    if (grades.size > GRADED_MAX)
      report(context, given, `has ${grades.size} ids, more than the maximum of ${GRADED_MAX}`, {
        kind: 'limit_exceeded',
      });
    if (![...grades.values()].some((grade) => grade > 0)) report(context, given, 'must have a grade above 0');
    return grades;
  })
  .meta({
    description: `Grades by external_id, from 0 (no answer) to ${GRADE_MAX}; what is not judged counts as 0. One at least is above 0.`,
  });

/** Schemas of objects pass over what has this name. */
function refusePrototype(value: unknown, context: IssueSink): unknown {
  const grades = typeof value === 'object' && value !== null ? (value as { relevant?: unknown }).relevant : null;
  if (typeof grades === 'object' && grades !== null && Object.hasOwn(grades, '__proto__'))
    report(context, value, 'can’t name the id "__proto__"', { path: ['relevant'] });
  return value;
}

export function judgementsBody(limits: HttpLimits) {
  const judged = z.object({
    query: boundedText(limits.queryLengthMax, 'MAX_QUERY_LENGTH').refine((text) => text.trim() !== '', {
      error: 'must not be empty',
    }),
    relevant,
  });
  return boundedArray(z.preprocess(refusePrototype, judged), QUERIES_MAX)
    .transform((queries, context): JudgedQuery[] => {
      if (queries.length === 0) report(context, queries, 'must not be empty');
      return queries;
    })
    .meta({
      description: `At most ${JUDGEMENTS_BYTES_MAX} bytes as JSON. A collection has up to ${JUDGEMENTS_MAX} judgements.`,
    });
}

/** The search that a variant asks for. Errors: those of POST /v1/query. */
export function variantSearch(limits: HttpLimits) {
  const schema = queryBody(limits);
  return (variant: Record<string, unknown>, text: string, k: number): SearchRequest => {
    const { name: _name, ...options } = variant;
    const asked = { ...options, query: text, collection_name: 'judged', top_k: k, fields: [], include_text: false };
    return validate(schema, asked, 'body').search;
  };
}

export function evaluationBody(limits: HttpLimits) {
  const none = new Set([...NO_VARIANT, ...toldOptions(limits)]);
  const options = [...(requestFieldsOf(queryBody(limits))?.names ?? [])].filter((name) => !none.has(name));
  const variant = z
    .record(z.string(), z.unknown())
    .superRefine((given, context) => {
      const { name, ...asked } = given;
      if (name !== undefined && (typeof name !== 'string' || name === '' || name.length > NAME_MAX))
        report(context, given, `must be a text of 1 to ${NAME_MAX} characters`, { path: ['name'] });
      for (const option of Object.keys(asked))
        if (!options.includes(option))
          report(context, given, `is no option that a variant can have${valueHint(option, options)}`, {
            path: [option],
          });
    })
    .meta({
      description:
        'Options of POST /v1/query that change what is found, such as {"alpha": 0.5, "fuzzy": "auto"}; {}: as it is. `name` is shown in the place of them.',
    });
  const hitsMax = Math.min(EVALUATED_HITS_MAX, limits.kMax);
  return z.object({
    name: collectionName.meta({ description: 'The name of the judgements.' }),
    variants: boundedArray(variant, VARIANTS_MAX)
      .superRefine((variants, context) => {
        if (variants.length === 0) report(context, variants, 'must not be empty');
        const bytes = Buffer.byteLength(JSON.stringify(variants));
        if (bytes > VARIANTS_BYTES_MAX)
          report(context, variants, `take ${bytes} bytes, more than the maximum of ${VARIANTS_BYTES_MAX}`, {
            kind: 'limit_exceeded',
          });
      })
      .meta({ description: `At most ${VARIANTS_BYTES_MAX} bytes as JSON.` }),
    k: withDefault(integer(1, hitsMax), Math.min(EVALUATED_HITS, hitsMax)).meta({
      description: 'How many hits of each query count.',
    }),
  });
}

const view = {
  name: z.string(),
  queries: z.int(),
  grades: z.int().meta({ description: 'Of all queries.' }),
  updated_at: z.iso.datetime(),
};

export const judgementsView = z.object(view).meta({ id: 'Judgements' });
export const judgementsList = z.object({ judgements: z.array(judgementsView) });
export const judgementsAnswer = z.object({
  ...view,
  judged: z.array(z.object({ query: z.string(), relevant: z.record(z.string(), z.number()) })),
});
export const judgementsDeleted = z.object({ deleted: z.string() });
