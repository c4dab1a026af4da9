import {
  type Diversity,
  type Fusing,
  type Grouping,
  type Leg,
  type PageCursor,
  type Query,
  type SearchRequest,
  type VectorSource,
  vectorAndKeywords,
} from '../../../coordinator/service/search-request';

/** What most searches are given; default: the ten best, of everything, calibrated. */
export interface GivenSearch {
  k?: number;
  offset?: number;
  filter?: Query['filter'];
  effort?: Query['effort'];
  minScore?: number | undefined;
  texts?: boolean;
  groups?: Grouping | undefined;
  diversity?: Diversity | undefined;
  cursor?: PageCursor | undefined;
  boosts?: Query['boosts'];
}

export interface NearestInput extends GivenSearch {
  source: VectorSource;
}

export interface FusedInput extends GivenSearch {
  queryText: string;
  vector?: Float32Array | undefined;
  alpha?: number;
  fusing?: Fusing | undefined;
  explain?: boolean;
}

/** The nearest to a vector or a text. */
export function nearest({ source, ...given }: NearestInput): SearchRequest {
  return searchOf({ type: 'nearest', to: source }, given);
}

/** The nearest to a text, with their texts. */
export function asked({ text, ...given }: GivenSearch & { text: string }): SearchRequest {
  return searchOf({ type: 'nearest', to: { text } }, { texts: true, ...given });
}

/** Vectors and keywords together. */
export function fused({ queryText: text, vector, alpha = 0.5, fusing, explain, ...given }: FusedInput): SearchRequest {
  return explained(searchOf(vectorAndKeywords({ text }, { vector, alpha, fusing }), given), explain);
}

/** Lists of any number together. */
export function ofLegs({
  legs,
  fusing,
  explain,
  ...given
}: GivenSearch & { legs: readonly Leg[]; fusing?: Fusing | undefined; explain?: boolean }): SearchRequest {
  return explained(searchOf({ type: 'fused', legs, fusing }, given), explain);
}

function explained(search: SearchRequest, explain: boolean | undefined): SearchRequest {
  return explain === undefined ? search : { ...search, output: { ...search.output, explain } };
}

/** The nearest to a stored item. */
export function like(externalId: string, given: GivenSearch = {}): SearchRequest {
  return searchOf({ type: 'like', externalId }, given);
}

/** What is like some, and unlike others. */
export function byExamples(
  examples: Omit<Query['source'] & { type: 'examples' }, 'type'>,
  given: GivenSearch = {},
): SearchRequest {
  return searchOf({ type: 'examples', ...examples }, given);
}

/** The candidates alone. */
export function listed({ source, candidates, ...given }: NearestInput & { candidates: string[] }): SearchRequest {
  return searchOf({ type: 'listed', to: source, externalIds: candidates }, { k: candidates.length, ...given });
}

function searchOf(
  source: Query['source'],
  {
    k = 10,
    offset = 0,
    filter = null,
    effort = { type: 'calibrated' },
    minScore,
    texts = false,
    groups,
    diversity,
    cursor,
    boosts,
  }: GivenSearch,
): SearchRequest {
  return {
    query: { source, filter, effort, ...(boosts !== undefined && { boosts }) },
    page: { k, offset, minScore, groups, diversity, ...(cursor && { cursor }) },
    output: { texts },
  };
}
