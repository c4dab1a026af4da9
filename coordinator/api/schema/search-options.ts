import { z } from 'zod';
import type { ErrorKind } from '../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../shared/contract/filter/filter';
import { TEXT_FIELD } from '../../../shared/contract/shard/keyword-fields';
import { isOfNow } from '../../../shared/contract/filter/parse-filter';
import type { OrderKey } from '../../../shared/contract/shard/item-order';
import {
  type Diversity,
  type Output,
  type Page,
  type Query,
  queryTextOf,
  type SearchRequest,
  type Source,
} from '../../service/search-request';
import { FUSED_PAGE_MAX } from '../../service/search/chained-fusion';
import { HIGHLIGHTED_UNITS_MAX, HIT_SENTENCES_MAX, NEAREST_SENTENCES_MAX } from '../../service/search/highlighted-hits';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { boundedArray, filters, integer, metadataFields, optional, withDefault } from '../fields/fields';
import { type IssueSink, report } from '../fields/issue';
import { boostShape, checkBoosts, isBoostOfNow } from './boost-options';

/** Hits of one group, and of all groups of an answer, as a multiple of MAX_K. */
const GROUP_SIZE_MAX = 100;
const GROUPED_HITS_FACTOR = 10;

/** The cursor of the first page. */
const FIRST_PAGE = 'first';

/** From how many hits diverse ones are chosen if a search does not say it. */
const CANDIDATES_DEFAULT = 100;

/** Number of results if a search does not give one. */
const K_DEFAULT = 10;

const count = z.int().min(1);
const offset = z.int().min(0);

/** A search whose source, which is judged last, is not there yet. */
interface SearchDraft extends Omit<SearchRequest, 'query'> {
  query: Omit<Query, 'source'>;
}

/** An option of searches: what a request may give, and what that means. */
interface SearchOption<Schema extends z.ZodType> {
  schema: Schema;
  /** `refuse` reports a value that is more than a limit. */
  set: (draft: SearchDraft, value: NonNullable<z.output<Schema>>, refuse: (message: string) => void) => void;
  /** Whether it changes only what is told of hits, not which these are. */
  isTold?: true;
}

function option<Schema extends z.ZodType>(schema: Schema, set: SearchOption<Schema>['set']): SearchOption<Schema> {
  return { schema, set };
}

/** One of what is told of hits. */
function told<Schema extends z.ZodType>(
  schema: Schema,
  set: (output: Output, value: NonNullable<z.output<Schema>>) => void,
): SearchOption<Schema> {
  return { schema, set: ({ output }, value) => set(output, value), isTold: true };
}

/** The same, of what is told or not. */
function toldFlag(name: 'texts' | 'versions' | 'total' | 'explain', description: string) {
  return told(withDefault(z.boolean(), false).meta({ description }), (output, value) => {
    output[name] = value;
  });
}

const orderKey = z
  .object({
    field: z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax),
    direction: withDefault(z.enum(['asc', 'desc']), 'asc'),
    missing: withDefault(z.enum(['first', 'last']), 'last'),
  })
  .transform(({ field, direction, missing }): OrderKey => ({
    field,
    descending: direction === 'desc',
    missingFirst: missing === 'first',
  }));
/** Up to three fields to order by; none: undefined. */
export const orderBy = optional(boundedArray(orderKey, REQUEST_BOUNDS.orderKeysMax)).transform((keys) =>
  keys === undefined || keys.length === 0 ? undefined : keys,
);

const neighbours = withDefault(integer(0, REQUEST_BOUNDS.neighboursMax), 0);
const expansion = z.object({ before: neighbours, after: neighbours });

const mark = withDefault(z.string().max(REQUEST_BOUNDS.highlightMarkUnitsMax), '');
const highlighting = z.object({
  fields: withDefault(
    boundedArray(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax), REQUEST_BOUNDS.highlightFieldsMax),
    ['text'],
  ).meta({ description: 'Paths of the metadata, texts or lists of texts; "text" is the item’s text (default).' }),
  fragments: withDefault(integer(1, REQUEST_BOUNDS.highlightFragmentsMax), 2).meta({
    description: 'Of each field, at most. Best first: those with the most different words of the query.',
  }),
  size: withDefault(integer(REQUEST_BOUNDS.highlightUnitsMin, REQUEST_BOUNDS.highlightUnitsMax), 160).meta({
    description: 'UTF-16 code units of a fragment, at most.',
  }),
  pre: mark.meta({ description: 'Put before each word in `text` of a highlight, which is not escaped for HTML.' }),
  post: mark.meta({ description: 'Put behind it.' }),
  by: withDefault(z.enum(['words', 'meaning']), 'words').meta({
    description: `meaning: a result without such words shows the sentence nearest to the query, without spans: of its first ${HIT_SENTENCES_MAX}, each of size at most. The collection’s model embeds them, at most ${NEAREST_SENTENCES_MAX} for an answer, which waits no more than five seconds for them; results behind have no \`highlights\`.`,
  }),
});

/** As a request gives it: what a search chooses from depends on other options, too. */
type GivenDiversity =
  | (Diversity & { type: 'field' })
  | (Omit<Diversity & { type: 'mmr' }, 'candidates'> & { candidates: number | undefined });

const diversity = z
  .object({
    lambda: optional(z.number()).meta({
      description:
        '1: by relevance alone, 0: by unlikeness alone. Of the candidates, the next hit is that with the greatest lambda × relevance − (1 − lambda) × its greatest cosine with a hit before. Relevance is the score if it is a cosine, else where it lies between the least and the greatest of the candidates; with rerank, of those that the model has read, which come first.',
    }),
    candidates: optional(z.int().min(1).meta({ maximum: REQUEST_BOUNDS.diversityCandidatesMax })).meta({
      description: `With lambda: the best so many hits are chosen from, at least k + offset. Default ${CANDIDATES_DEFAULT}; with rerank top_n, and no more than that.`,
    }),
    field: optional(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax)).meta({
      description: 'Instead of lambda: a path of the metadata, in which no value is in more hits than at_most.',
    }),
    at_most: optional(integer(1, GROUP_SIZE_MAX)).meta({ description: 'Default 1. Of a list, each element counts.' }),
  })
  .transform(({ lambda, candidates, field, at_most: atMost = 1, ...rest }, context): GivenDiversity => {
    const refuse = (message: string, name: string, kind: ErrorKind = 'invalid_parameter'): void =>
      report(context, rest, message, { kind, path: [name] });
    if ((lambda === undefined) === (field === undefined))
      report(context, rest, 'must have lambda or field', { wanted: ['lambda', 'field'] });
    if (lambda !== undefined && !(lambda >= 0 && lambda <= 1)) refuse('must be from 0 to 1', 'lambda');
    const most = REQUEST_BOUNDS.diversityCandidatesMax;
    if (candidates !== undefined && candidates > most)
      refuse(`is ${candidates}, more than the maximum of ${most}`, 'candidates', 'limit_exceeded');
    return field === undefined
      ? { type: 'mmr', lambda: lambda ?? 1, candidates }
      : { type: 'field', path: field, atMost };
  });
/** Hits that a model reads if a search does not say it. */
const RERANKED_DEFAULT = 50;
const reranking = z.object({
  model: optional(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax)).meta({
    description: 'One of RERANK_MODEL; left out: the first.',
  }),
  top_n: optional(integer(1, REQUEST_BOUNDS.rerankedMax)).meta({
    description: `How many results the model reads; k + offset is at most that. Default: ${RERANKED_DEFAULT}, or k + offset if that is more and there is no cursor.`,
  }),
  min_score: optional(z.number()).meta({
    description: 'Results that the model scores less, or not at all, are left out.',
  }),
  budget_ms: optional(integer(1, REQUEST_BOUNDS.rerankBudgetMsMax)).meta({
    description: 'What is not read after so many milliseconds keeps its place behind what is.',
  }),
  text: withDefault(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax), TEXT_FIELD).meta({
    description:
      'What it reads: "text", the item’s text (default), or a path of the metadata, a text or a list of texts.',
  }),
});

/** The options of every search; a row here is an option of all of them. Later rows win over earlier ones. */
function optionsOf(limits: HttpLimits) {
  const { boosts, boost_mode: boostMode } = boostShape(limits);
  return {
    filters: option(filters(limits), ({ query }, filter) => {
      query.filter = filter;
    }),
    ef: option(
      optional(integer(1, REQUEST_BOUNDS.efMax)).meta({
        maximum: limits.searchEffortMax,
        description: 'Search effort set by hand; left out, it is calibrated to RECALL_TARGET.',
      }),
      ({ query }, ef, refuse) => {
        if (ef > limits.searchEffortMax)
          refuse(`is ${ef}, more than the maximum of ${limits.searchEffortMax} (MAX_EF)`);
        query.effort = { type: 'ef', ef };
      },
    ),
    exact: option(
      withDefault(z.boolean(), false).meta({ description: 'Compares with every vector.' }),
      ({ query }, exact) => {
        if (exact) query.effort = { type: 'exact' };
      },
    ),
    boosts: option(boosts, ({ query }, parts) => {
      if (parts.length > 0) query.boosts = { mode: 'multiply', parts };
    }),
    boost_mode: option(boostMode, ({ query }, mode) => {
      if (query.boosts !== undefined) query.boosts = { ...query.boosts, mode };
    }),
    vector_model: option(
      optional(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax)).meta({
        description:
          'The model that the vectors of the request are of. If the collection’s is another, they are refused (409).',
      }),
      ({ query }, model) => {
        query.vectorModel = model;
      },
    ),
    fields: told(
      metadataFields.meta({
        description:
          'Paths of the metadata that results carry, such as "author.name". Left out: all; []: none. A path that ' +
          'an item lacks is left out of it.',
      }),
      (output, fields) => {
        output.fields = fields;
      },
    ),
    include_text: toldFlag('texts', 'Results also carry their text; "" where an item has none.'),
    include_version: toldFlag(
      'versions',
      'Results also carry their `version`, for if_version. Their metadata and texts are read together with ' +
        'it, so they are of that version.',
    ),
    text_max: told(
      optional(z.int().min(1)).meta({
        description:
          'A result’s text has so many UTF-16 code units at most; what is behind is left out. Places of ' +
          'highlights are those of the whole text.',
      }),
      (output, textMax) => {
        output.textMax = textMax;
      },
    ),
    total: toldFlag('total', 'The answer also has `total_matches`: how many items pass the filters, exactly.'),
    order_by: option(
      orderBy.meta({
        description:
          'Orders the hits of the page by values of their metadata: numbers, texts, false, true; equal ones stay ' +
          'best first. An array counts by its least value, or with "desc" by its greatest.',
      }),
      ({ output }, order) => {
        output.order = order;
      },
    ),
    expand: told(
      optional(expansion).meta({
        description:
          'Results also carry `context`: the text of so many chunks of their document before and after their own, as metadata have these in document_id and chunk_index; what neighbours share is there once. Windows that touch are one, up to 64 chunks, in each of their results. Neighbours need not pass the filters.',
      }),
      (output, expand) => {
        output.expand = expand;
      },
    ),
    highlight: told(
      optional(highlighting).meta({
        description: `Results also carry \`highlights\`: fragments of their fields with words of the query’s text, in any form, as the collection’s keyword search sees them. An answer looks at ${HIGHLIGHTED_UNITS_MAX.toLocaleString('en')} UTF-16 code units; results behind that have no \`highlights\`.`,
      }),
      (output, { fields, ...highlight }) => {
        output.highlight = { ...highlight, fields: [...new Set(fields)] };
      },
    ),
    group_by: option(
      optional(z.string().min(1).max(REQUEST_BOUNDS.nameCharactersMax)).meta({
        description:
          'A path of the metadata. The answer has `groups` instead of `results`: the k best groups of items that ' +
          'have the same number, text or boolean there; an item with a list is in the group of each of its ' +
          'elements. A group is as good as its best hit. k and offset count groups.',
      }),
      ({ page }, path) => {
        page.groups = { path, size: 1, missing: 'leave_out' };
      },
    ),
    group_size: option(
      optional(integer(1, GROUP_SIZE_MAX)).meta({ description: 'Hits of a group at most. Default 1.' }),
      ({ page: { groups } }, size) => {
        if (groups !== undefined) groups.size = size;
      },
    ),
    group_missing: option(
      optional(z.enum(['leave_out', 'each'])).meta({
        description: 'Items without such a value are left out (default), or each a group with the key null.',
      }),
      ({ page: { groups } }, missing) => {
        if (groups !== undefined) groups.missing = missing;
      },
    ),
    diversity: option(
      optional(diversity).meta({
        description:
          'Results that differ: by their vectors with {"lambda": 0.7, "candidates": 100}, or by a value with ' +
          '{"field": "author", "at_most": 2}.',
      }),
      ({ page }, chosen) => {
        page.diversity =
          chosen.type === 'mmr' ? { ...chosen, candidates: chosen.candidates ?? CANDIDATES_DEFAULT } : chosen;
      },
    ),
    cursor: option(
      optional(z.string().min(1)).meta({
        description: `Pages that continue each other, without offset and as far as the list goes: "first", then \`next_cursor\` of the page before, which is null at the end. No hit comes twice and none that stays as it is is left out; what has changed since the first page is left out. Where an answer has boost_depth, the list from there on is that of so many items of each shard, the best without boosts, and ends with them; fused with others, once the chain is past 16,384 of these. All fields but k and those of what results carry are to be the same. A chain goes on for ${limits.cursorSeconds} seconds (CURSOR_SECONDS), and ends when the collection is resharded.`,
      }),
      ({ page }, cursor) => {
        page.cursor = { text: cursor === FIRST_PAGE ? null : cursor, secondsMax: limits.cursorSeconds };
      },
    ),
    explain: toldFlag(
      'explain',
      'Results also carry how they came to their places: of two lists vector_rank, vector_score, vector_part, keyword_rank, keyword_score and keyword_part, of legs rank, score and part of each, of which the parts add up to the score; with diversity by lambda, first_rank (with rerank, reranked_rank) and diversity_score; with boosts, what each of them gave, `boosts`.',
    ),
    rerank: option(
      optional(reranking).meta({
        description:
          'A model that reads the query’s text together with that of each of the best results puts these in ' +
          'another order. Then `score` is the model’s (0 to 1), and `first_score` and `first_rank` are what it ' +
          'was before; results that it has not read keep theirs, without these two, and come behind. Groups are ' +
          'formed, hits that differ chosen, and pages cut, after it.',
      }),
      (draft, { model, top_n, min_score: leastScore, budget_ms: budgetMs, text: field }) => {
        const { k, offset, cursor } = draft.page;
        // Of a chain all pages have the same, and k may differ.
        const fallback = cursor === undefined ? Math.max(RERANKED_DEFAULT, k + offset) : RERANKED_DEFAULT;
        draft.rerank = { model, topN: top_n ?? fallback, leastScore, budgetMs, field };
      },
    ),
    min_score: option(
      optional(z.number()).meta({
        description:
          'Results that score less are left out: of the list before it is cut by offset and k, so that pages stay as they are. Any finite number.',
      }),
      ({ page }, minScore) => {
        page.minScore = minScore;
      },
    ),
  };
}

type Options = ReturnType<typeof optionsOf>;
/** Those that set how much is searched; left out, that is calibrated. */
export const EFFORT_OPTIONS: readonly (keyof Options)[] = ['ef', 'exact'];
/** Those that change only what is told of hits. */
export function toldOptions(limits: HttpLimits): string[] {
  return Object.entries(optionsOf(limits)).flatMap(([name, { isTold }]) => (isTold === true ? [name] : []));
}
type OptionShape = { [Name in keyof Options]: Options[Name]['schema'] };
/** The fields of a request that are options. */
type GivenOptions = z.output<z.ZodObject<OptionShape>>;

/** A page as a request gives it. */
type GivenPage = Pick<Page, 'k' | 'offset'>;

/** What searches take besides their sources, and what they make of it. */
export interface SearchFields {
  /** Which part of the ranked list. */
  page: ReturnType<typeof pageShape>;
  options: OptionShape;
  /**
   * The search of a source, with the options that are given. Reports a page beyond MAX_K, then values beyond their
   * limits, then what `source` reports: null after that, and then the answer is NEVER. `kName`: what the request calls
   * `k`.
   */
  request(
    source: () => Source | null,
    page: GivenPage,
    given: Partial<GivenOptions>,
    sink: IssueSink,
    kName?: string,
  ): SearchRequest;
}

/** How many hits a request wants. */
export function hitCount(limits: HttpLimits, byDefault: number) {
  return withDefault(count.meta({ maximum: limits.kMax }), byDefault);
}

function pageShape(limits: HttpLimits) {
  return { k: hitCount(limits, K_DEFAULT), offset: withDefault(offset, 0) };
}

/** Reports a page beyond MAX_K. */
function checkPage(page: GivenPage, limits: HttpLimits, sink: IssueSink, kName: string): void {
  if (page.k + page.offset <= limits.kMax) return;
  const what = page.offset === 0 ? `is ${page.k},` : `is ${page.k} and offset ${page.offset}: together they are`;
  report(sink, page, `${what} more than the maximum of ${limits.kMax} (MAX_K)`, {
    kind: 'limit_exceeded',
    path: [kName],
  });
}

/** Reports options of groups without groups, and more hits in groups than an answer may have. */
function checkGroups(
  { k, groups }: Page,
  given: Partial<GivenOptions>,
  limits: HttpLimits,
  sink: IssueSink,
  kName: string,
): void {
  for (const name of ['group_size', 'group_missing'] as const)
    if (groups === undefined && given[name] !== undefined)
      report(sink, given, 'needs group_by', { kind: 'invalid_parameter', path: [name] });
  if (groups !== undefined && given.order_by !== undefined)
    report(sink, given, 'orders hits, and groups come by their best ones: give one of both', {
      kind: 'invalid_parameter',
      path: ['order_by'],
    });
  const most = GROUPED_HITS_FACTOR * limits.kMax;
  if (groups !== undefined && k * groups.size > most)
    report(
      sink,
      given,
      `is ${groups.size} for ${kName} ${k}: together more than ${most} hits (${GROUPED_HITS_FACTOR} × MAX_K)`,
      { kind: 'limit_exceeded', path: ['group_size'] },
    );
}

/** What is chosen of what a model has read is chosen of all of it, if no less is asked for. */
function chooseOfReranked({ page: { diversity: chosen }, rerank }: SearchDraft, given?: GivenDiversity | null): void {
  if (rerank === undefined || chosen?.type !== 'mmr' || given?.type !== 'mmr') return;
  chosen.candidates = Math.min(given.candidates ?? rerank.topN, rerank.topN);
}

/** Reports diversity beside groups, and pages beyond its candidates. */
function checkDiversity(
  { k, offset, groups, diversity: chosen }: Page,
  given: Partial<GivenOptions>,
  sink: IssueSink,
  kName: string,
): void {
  if (chosen === undefined) return;
  const refuse = (message: string, path: string[]): void =>
    report(sink, given, message, { kind: 'invalid_parameter', path });
  if (groups !== undefined) refuse('is of hits, and group_by answers groups: give one of both', ['diversity']);
  if (chosen.type === 'mmr' && chosen.candidates < k + offset)
    refuse(`is ${chosen.candidates}, less than ${kName} + offset, which are ${k + offset}`, [
      'diversity',
      'candidates',
    ]);
}

/** Reports contexts of more chunks than an answer may have hits in groups. */
function checkExpansion(
  { page: { k, groups }, output: { expand } }: SearchDraft,
  given: Partial<GivenOptions>,
  limits: HttpLimits,
  sink: IssueSink,
  kName: string,
): void {
  if (expand === undefined) return;
  const chunks = expand.before + 1 + expand.after;
  const most = GROUPED_HITS_FACTOR * limits.kMax;
  if (chunks * k * (groups?.size ?? 1) <= most) return;
  report(
    sink,
    given,
    `is ${chunks} chunks for each hit of ${kName} ${k}: together more than ${most} (${GROUPED_HITS_FACTOR} × MAX_K)`,
    { kind: 'limit_exceeded', path: ['expand'] },
  );
}

/** Reports marks where there is no text to mark words of, and of more hits than an answer may have so. */
function checkHighlight(
  { page: { k, groups }, output: { highlight } }: SearchDraft,
  source: Source | null,
  given: Partial<GivenOptions>,
  sink: IssueSink,
): void {
  if (highlight === undefined) return;
  const refuse = (message: string, kind: 'invalid_parameter' | 'limit_exceeded'): void =>
    report(sink, given, message, { kind, path: ['highlight'] });
  if (source !== null && highlight.by === 'words' && queryTextOf(source) === undefined)
    refuse('needs a text that is searched for', 'invalid_parameter');
  const hits = k * (groups?.size ?? 1);
  const most = REQUEST_BOUNDS.highlightHitsMax;
  if (hits > most) refuse(`is of ${hits} results, more than the maximum of ${most}`, 'limit_exceeded');
}

/** Reports reranking where there is no text to compare with, and pages behind it. */
function checkRerank(
  { page: { k, offset }, rerank }: SearchDraft,
  source: Source | null,
  given: Partial<GivenOptions>,
  sink: IssueSink,
  kName: string,
): void {
  if (rerank === undefined) return;
  if (source !== null && (queryTextOf(source) ?? '').trim() === '')
    report(sink, given, 'needs a text that is searched for', { kind: 'schema_violation', path: ['rerank'] });
  const most = Math.min(rerank.topN, REQUEST_BOUNDS.rerankedMax);
  if (k + offset > most)
    report(sink, given, `is ${most}, and ${kName} and offset are ${k + offset} together: give at most that`, {
      kind: 'limit_exceeded',
      path: ['rerank', 'top_n'],
    });
}

const FROM_NOW = 'have dates from now, which another page would take for others: give the dates themselves';

/** Reports cursors of what is no list that goes on. */
function checkCursor(
  { query: { filter, boosts }, page: { offset, diversity, cursor }, rerank }: SearchDraft,
  source: Source | null,
  given: Partial<GivenOptions>,
  sink: IssueSink,
  { k, groups }: Page,
  kName: string,
): void {
  if (cursor === undefined) return;
  const refuse = (message: string, name: string): void =>
    report(sink, given, message, { kind: 'invalid_parameter', path: [name] });
  if (offset > 0)
    refuse('counts from the beginning, and a cursor says where a page begins: give one of both', 'offset');
  if (rerank?.budgetMs !== undefined)
    refuse('with budget_ms, what is read in time is put in order, which differs from page to page', 'cursor');
  const legs = source?.type === 'fused' ? source.legs : [];
  if (legs.length > 0 && groups !== undefined)
    refuse('continues groups of one list, and this search fuses several: take offset', 'cursor');
  if (legs.length > 0 && diversity !== undefined)
    refuse('continues hits that differ of one list, and this search fuses several: take offset', 'cursor');
  if (source?.type === 'fused' && (source.fusing?.kind === 'relative' || source.fusing?.kind === 'dbsf'))
    refuse('continues lists that are fused by ranks or by sums, and fusion asks for shares of their scores', 'cursor');
  if (legs.length > 0 && k > FUSED_PAGE_MAX)
    report(sink, given, `continues fused lists in pages of at most ${FUSED_PAGE_MAX}, and ${kName} is ${k}`, {
      kind: 'limit_exceeded',
      path: ['cursor'],
    });
  if ([source, ...legs.map(({ of }) => of)].some((one) => one?.type === 'examples' && one.strategy === 'best_score'))
    refuse(
      'continues lists in the order of one vector, and strategy "best_score" has several: take "average"',
      'cursor',
    );
  if ([filter, ...legs.map((leg) => leg.filter)].some((one) => one !== null && isOfNow(one)))
    refuse(FROM_NOW, 'filters');
  if (boosts?.parts.some(isBoostOfNow) === true) refuse(FROM_NOW, 'boosts');
}

/** Options of one list of several, of its own hits. */
export function listShape(limits: HttpLimits) {
  const { filters: filter, min_score: least } = optionsOf(limits);
  return {
    filters: filter.schema,
    min_score: least.schema.meta({ description: 'Hits whose score by this leg alone is less are not in its list.' }),
  };
}

export function listBounds(given: z.output<z.ZodObject<ReturnType<typeof listShape>>>): {
  filter: Filter | null;
  leastScore: number | undefined;
} {
  return { filter: given.filters, leastScore: given.min_score };
}

/** Fields of a page that a request may give in its body or in its query string: undefined where they are not. */
export const pageParts = {
  k: optional(count).meta({ description: `Default ${K_DEFAULT}.` }),
  offset: optional(offset).meta({ description: 'Default 0.' }),
};

/** The page of such parts. Left out, k is 10 and offset 0. */
export function pageOfParts({
  k = K_DEFAULT,
  offset = 0,
}: {
  k?: number | undefined;
  offset?: number | undefined;
}): GivenPage {
  return { k, offset };
}

export function searchFields(limits: HttpLimits): SearchFields {
  const options = optionsOf(limits);
  const rows = Object.entries(options) as [keyof Options, SearchOption<z.ZodType>][];
  return {
    page: pageShape(limits),
    options: Object.fromEntries(rows.map(([name, { schema }]) => [name, schema])) as OptionShape,
    request(source, { k, offset }, given, sink, kName = 'k') {
      checkPage({ k, offset }, limits, sink, kName);
      const draft: SearchDraft = {
        query: { filter: null, effort: { type: 'calibrated' } },
        page: { k, offset, minScore: undefined },
        output: { texts: false },
      };
      for (const [name, { set }] of rows) {
        const value = given[name];
        if (value !== undefined && value !== null)
          set(draft, value, (message) => report(sink, given, message, { kind: 'limit_exceeded', path: [name] }));
      }
      checkBoosts(draft.query.boosts, given, sink);
      checkGroups(draft.page, given, limits, sink, kName);
      chooseOfReranked(draft, given.diversity);
      checkDiversity(draft.page, given, sink, kName);
      checkExpansion(draft, given, limits, sink, kName);
      const found = source();
      checkHighlight(draft, found, given, sink);
      checkRerank(draft, found, given, sink, kName);
      checkCursor(draft, found, given, sink, draft.page, kName);
      return found === null ? z.NEVER : { ...draft, query: { source: found, ...draft.query } };
    },
  };
}
