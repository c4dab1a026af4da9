import { z } from 'zod';
import { bothFilters, type Filter } from '../../../shared/contract/filter/filter';
import { type Fusing, isMade, type Leg, type LegSource, type Source } from '../../service/search-request';
import { boundedArray, boundedText, externalId, optional, vector, withDefault } from '../fields/fields';
import { type IssueSink, report } from '../fields/issue';
import type { HttpLimits } from '../requests/http-limits';
import { exampleShape, exampleSource, givesExamples } from './example-options';
import { askedText, type GivenKeywords, NOTHING_TO_FIND } from './keyword-options';
import { listBounds, listShape } from './search-options';

const LEGS_MIN = 2;
const LEGS_MAX = 8;
const WEIGHT_MAX = 1_000_000;
const KINDS = ['text', 'vector', 'query_text', 'like'] as const;

/** A leg as a request gives it. */
interface GivenLeg extends Pick<Leg, 'weight' | 'filter' | 'leastScore'> {
  /** null: it was reported that there is none, or more than one. */
  of: Exclude<LegSource, { type: 'keywords' }> | { type: 'words'; text: string } | null;
}

function like(limits: HttpLimits) {
  return z
    .object({
      id: optional(externalId).meta({ description: 'Of a stored item: the first of the positives.' }),
      ...exampleShape(limits),
    })
    .transform((given, context): Exclude<GivenLeg['of'], { type: 'words' }> => {
      const { id } = given;
      if (id !== undefined && !givesExamples(given)) return { type: 'like', externalId: id };
      const source = exampleSource(given, context, id === undefined ? [] : [{ externalId: id }]);
      return source?.type === 'examples' ? source : null;
    });
}

function leg(limits: HttpLimits) {
  const text = optional(boundedText(limits.searchTextLengthMax, 'MAX_SEARCH_TEXT_LENGTH'));
  return z
    .object({
      text: text.meta({ description: 'Looked for by meaning.' }),
      vector: optional(vector(limits.vectorDimMax)),
      query_text: text.meta({
        description: 'Looked for by keywords, as the request says. What + and − ask for holds for all legs.',
      }),
      like: optional(like(limits)).meta({
        description:
          'What hits are like: {"id": of a stored item}, or positives, negatives and strategy, as in a search by ' +
          'examples. Items among these are no results, of other legs neither.',
      }),
      weight: withDefault(z.number().min(0).max(WEIGHT_MAX), 1).meta({
        description: '0: the leg adds nothing, and is not looked up.',
      }),
      ...listShape(limits),
    })
    .transform((given, context): GivenLeg => {
      const kinds = KINDS.filter((kind) => given[kind] !== undefined);
      if (kinds.length !== 1) report(context, given, 'must have one of text, vector, query_text and like');
      for (const kind of ['text', 'query_text'] as const)
        if (given[kind]?.trim() === '')
          report(context, given, 'must not be empty', { kind: 'invalid_parameter', path: [kind] });
      return { of: sourceOf(given), weight: given.weight, ...listBounds(given) };
    });
}

function sourceOf(given: {
  text?: string | undefined;
  vector?: Float32Array | undefined;
  query_text?: string | undefined;
  like?: Exclude<GivenLeg['of'], { type: 'words' }> | undefined;
}): GivenLeg['of'] {
  const { text, vector: own, query_text: words, like: examples = null } = given;
  if (text !== undefined) return { type: 'nearest', to: { text } };
  if (own !== undefined) return { type: 'nearest', to: { vector: own } };
  return words === undefined ? examples : { type: 'words', text: words };
}

/** Fields of searches that may fuse lists of any number. */
export function legShape(limits: HttpLimits) {
  return {
    legs: optional(boundedArray(leg(limits), LEGS_MAX)).meta({
      minItems: LEGS_MIN,
      description:
        `In the place of query_text, vector and alpha: ${LEGS_MIN} to ${LEGS_MAX} lists that become one, each with ` +
        'one of text, vector, query_text and like, its weight, and what its hits must pass. With explain, results ' +
        'have the same `legs`. rerank and highlight go by the first query_text, or else by the first text.',
    }),
  };
}

/** What a search fuses. */
export interface FusedSource {
  /** null: it was reported that there is none. */
  source: Source | null;
  /** What the words ask of all lists; null: nothing. */
  filter: Filter | null;
  /** Reports what can't be looked for, which comes behind what is more than a limit. */
  check: () => void;
}

/** Of the fields that say how words are read, whether one says something. */
function wordOptions({ match, query_syntax, fuzzy, prefix_last, field_weights }: GivenKeywords) {
  return {
    match: match !== undefined,
    query_syntax: query_syntax !== 'plain',
    fuzzy: fuzzy !== undefined,
    prefix_last,
    field_weights: field_weights !== undefined,
  };
}

/** The source of legs. `body`: with the fields that say how texts are read. */
export function legsSource(
  legs: readonly GivenLeg[],
  body: GivenKeywords,
  fusing: Fusing | undefined,
  sink: IssueSink,
): FusedSource {
  let filter: Filter | null = null;
  const whole = legs.flatMap(({ of, ...more }, i): Leg[] => {
    if (of === null) return [];
    if (of.type !== 'words') return [{ of, ...more }];
    const asked = askedText(of.text, body, sink, ['legs', i, 'query_text']);
    filter = bothFilters(filter, asked.filter);
    return [{ of: { type: 'keywords', ...asked.source }, ...more }];
  });
  const refuse = (message: string): void => report(sink, legs, message, { kind: 'invalid_parameter', path: ['legs'] });
  const check = (): void => {
    if (legs.length < LEGS_MIN) report(sink, legs, `must have at least ${LEGS_MIN} elements`, { path: ['legs'] });
    else if (legs.every(({ weight }) => weight === 0)) refuse('must have a weight above 0');
    else if (whole.filter(isMade).every(({ of }) => of.type === 'keywords' && of.text === '')) refuse(NOTHING_TO_FIND);
    if (whole.length === legs.length && !whole.some(({ of }) => of.type === 'keywords'))
      for (const [name, isGiven] of Object.entries(wordOptions(body)))
        if (isGiven)
          report(sink, body, 'is of keywords: give a leg with query_text', {
            kind: 'invalid_parameter',
            path: [name],
          });
  };
  return { source: whole.length < legs.length ? null : { type: 'fused', legs: whole, fusing }, filter, check };
}
