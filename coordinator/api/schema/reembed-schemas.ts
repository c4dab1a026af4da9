import { z } from 'zod';
import { PassageTemplate } from '../../models/passage-template';
import type { ReembedRequest } from '../../service/service';
import { collectionName, integer, optional, withDefault } from '../fields/fields';
import { report } from '../fields/issue';
import type { HttpLimits } from '../requests/http-limits';
import { embeddingFields } from './collection-schemas';

const SAMPLE_MAX = 1_000;
const SAMPLE = 200;
/** A month: that long, the vectors of before take their room. */
const KEEP_HOURS_MAX = 744;
const TEMPLATE_MAX = 1_000;

const keepHours = optional(integer(0, KEEP_HOURS_MAX));

const template = z
  .string()
  .max(TEMPLATE_MAX)
  .superRefine((given, context) => {
    const fault = PassageTemplate.faultOf(given);
    if (fault !== null) report(context, given, fault);
  });

const compare = z
  .object({
    sample: optional(integer(1, SAMPLE_MAX)).meta({ description: 'So many items, by their texts.' }),
    judged: optional(collectionName).meta({ description: 'The name of judgements of the collection.' }),
  })
  .transform((given, context): ReembedRequest['compare'] => {
    const { sample, judged } = given;
    if (judged !== undefined && sample === undefined) return { judged };
    if (sample !== undefined && judged === undefined) return { sample };
    report(context, given, 'must have one of sample and judged');
    return z.NEVER;
  })
  .meta({ description: 'With which queries old and new vectors are compared. Default: {"sample": 200}.' });

export function reembedBody(limits: HttpLimits) {
  return z.object({
    ...embeddingFields(limits),
    dim: optional(integer(1, limits.vectorDimMax)).meta({
      description: 'Of vectors of a model that makes any (builtin). Default: as now.',
    }),
    template: optional(template).meta({
      description:
        'What vectors are made of from then on: {{text}}, and paths of metadata, as "{{title}}\\n{{text}}". What is ' +
        'missing is empty; an item with nothing of it has no text. Default: "{{text}}".',
    }),
    on_no_text: withDefault(z.enum(['fail', 'drop']), 'fail').meta({
      description: 'fail: where items have no text, the job fails and names them; drop: they are left out.',
    }),
    compare: withDefault(compare, { sample: SAMPLE }),
    switch: withDefault(z.enum(['manual', 'auto']), 'manual').meta({
      description: 'manual: the job waits for POST /v1/jobs/{id}/switch; auto: it switches once it has compared.',
    }),
    keep_hours: keepHours.meta({
      description:
        'How long there is a way back (POST /v1/jobs/{id}/back). Default: 24; 0 where vectors are of no model now.',
    }),
  });
}

export const switchBody = z.object({
  keep_hours: keepHours.meta({
    description: 'In place of what the job says; after the switch, too: 0 gives the way back up.',
  }),
});
