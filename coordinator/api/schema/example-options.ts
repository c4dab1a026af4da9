import { z } from 'zod';
import type { Example, Source } from '../../service/search-request';
import { boundedArray, boundedText, externalId, optional, vector } from '../fields/fields';
import { type IssueSink, report } from '../fields/issue';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';

const STRATEGIES = ['average', 'best_score'] as const;

function example(limits: HttpLimits) {
  return z
    .object({
      id: optional(externalId).meta({ description: 'Of a stored item, which is then no result.' }),
      vector: optional(vector(limits.vectorDimMax)),
      text: optional(boundedText(limits.searchTextLengthMax, 'MAX_SEARCH_TEXT_LENGTH')),
    })
    .transform(({ id, vector: given, text }, context): Example => {
      const count = [id, given, text].filter((one) => one !== undefined).length;
      if (count !== 1) report(context, id, 'must have one of id, vector and text');
      else if (text?.trim() === '')
        report(context, text, 'must not be empty', { kind: 'invalid_parameter', path: ['text'] });
      return id !== undefined ? { externalId: id } : given !== undefined ? { vector: given } : { text: text ?? '' };
    });
}

/** Fields of searches by examples. */
export function exampleShape(limits: HttpLimits) {
  const examples = optional(boundedArray(example(limits), REQUEST_BOUNDS.examplesMax));
  return {
    positives: examples.meta({
      description:
        'What results are like: each {"id": of a stored item}, {"vector": …} or {"text": …}. Items among positives and negatives are no results.',
    }),
    negatives: examples.meta({ description: 'What results are unlike, in the same forms. Needs a positive.' }),
    strategy: optional(z.enum(STRATEGIES)).meta({
      description:
        '"average" (default): the nearest to twice the mean of the positives less the mean of the negatives; for cosine, means of directions. "best_score": a result’s score is that against the positive nearest to it; what is as near to a negative is left out. Reads up to the 10,000 nearest of each positive.',
    }),
  };
}

interface GivenExamples {
  positives?: Example[] | undefined;
  negatives?: Example[] | undefined;
  strategy?: (typeof STRATEGIES)[number] | undefined;
}

/** Whether a request has any of them. */
export function givesExamples({ positives, negatives, strategy }: GivenExamples): boolean {
  return positives !== undefined || negatives !== undefined || strategy !== undefined;
}

/** The source by examples, `first` before the others. Null after it was reported that there is no positive. */
export function exampleSource(
  { positives = [], negatives = [], strategy = 'average' }: GivenExamples,
  sink: IssueSink,
  first: readonly Example[] = [],
): Source | null {
  const all = [...first, ...positives];
  const { length: namedApart } = first;
  if (all.length > 0)
    return { type: 'examples', positives: all, negatives, strategy, ...(namedApart > 0 && { namedApart }) };
  report(sink, positives, 'must have one that results are like', { kind: 'invalid_parameter', path: ['positives'] });
  return null;
}
