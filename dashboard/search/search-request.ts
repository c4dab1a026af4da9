import { call, path } from '../api/client';
import type { Hit, HitGroup, Timing, WhyReport } from '../api/shapes';
import { type Condition, filtersOf } from '../filters/filter-model';
import { EXCERPT_MAX } from './excerpt';
import { recallOf } from './recall';

export const MODES = { text: 'Meaning', hybrid: 'Hybrid', item: 'Like an item', vector: 'Vector' } as const;
export type Mode = keyof typeof MODES;

/** Hits of a group. */
const GROUP_SIZE = 3;
/** It is some ten searches, exact ones among them. */
const WHY_DEADLINE_MS = 120_000;

/** What the form holds. */
export interface SearchPlan {
  mode: Mode;
  /** A text, an external_id, or numbers as JSON, by the mode. */
  query: string;
  k: number;
  alpha: number;
  conditions: Condition[];
  /** Paths of the metadata that hits carry; null: all. */
  fields: string[] | null;
  /** The path by whose values hits are grouped; null: they are not. */
  groupBy: string | null;
  /** The model that reads the best hits and orders them anew; null: none. */
  rerank: string | null;
  /** Ask once more, comparing with every vector. */
  besideExact: boolean;
  /** The external_id of an item that should be found; empty: none. */
  expected: string;
}

export interface Answered {
  /** Of groups, those of all, one group's after the other's. */
  hits: Hit[];
  groups: HitGroup[] | null;
  /** How many items pass the filters. */
  total: number;
  /** From the page to the server and back. */
  roundTripMs: number;
  timing: Timing | null;
}

export interface SearchOutcome {
  plan: SearchPlan;
  calibrated: Answered;
  exact: Answered | null;
  /** Share of the exact hits that the calibrated search found too. */
  recall: number | null;
}

export async function runSearch(collection: string, plan: SearchPlan, stop: AbortSignal): Promise<SearchOutcome> {
  const calibrated = await ask(collection, plan, false, stop);
  const exact = plan.besideExact && hasExact(plan) ? await ask(collection, plan, true, stop) : null;
  return { plan, calibrated, exact, recall: exact === null ? null : recallOf(calibrated.hits, exact.hits) };
}

/**
 * Whether the scores of a search tell how many of the exact hits were found: those of hybrid searches are of ranks,
 * groups have hits that others surpass, and a model's say nothing of vectors.
 */
export function hasExact({ mode, groupBy, rerank }: SearchPlan): boolean {
  return mode !== 'hybrid' && groupBy === null && (mode !== 'text' || rerank === null);
}

/** Whether it looks for a text, in which words are marked and which a model can read. */
export function hasText({ mode }: Pick<SearchPlan, 'mode'>): boolean {
  return mode === 'text' || mode === 'hybrid';
}

/** The numbers of a typed vector. Throws what is wrong with it. */
export function vectorFromText(text: string): number[] {
  const list = text
    .trim()
    .replace(/^\[|\]$/g, '')
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);
  if (list.length === 0 || list.some((value) => !Number.isFinite(value)))
    throw new Error('A vector is a list of numbers: [0.1, 0.2, …].');
  return list;
}

/** What of a search decides over its hits. */
function decidingFields(plan: SearchPlan) {
  const { k, conditions, groupBy, rerank } = plan;
  const filters = filtersOf(conditions);
  return {
    k,
    ...(filters === undefined ? {} : { filters }),
    ...(hasText(plan) && rerank !== null ? { rerank: { model: rerank } } : {}),
    ...(groupBy === null ? {} : { group_by: groupBy, group_size: GROUP_SIZE }),
  };
}

/** Why the search of a plan finds its expected item, or does not. */
export async function runWhy(collection: string, plan: SearchPlan, stop: AbortSignal): Promise<WhyReport> {
  const { mode, query, alpha, expected } = plan;
  const search = {
    text: () => ({ text: query }),
    vector: () => ({ vector: vectorFromText(query) }),
    hybrid: () => ({ query_text: query, alpha }),
    item: () => ({ positives: [{ id: query.trim() }] }),
  }[mode]();
  return call<'post_collections_name_why'>('POST', path('/v1/collections/', collection, '/why'), {
    body: { ...decidingFields(plan), ...search, external_id: expected },
    signal: stop,
    deadlineMs: WHY_DEADLINE_MS,
  });
}

async function ask(collection: string, plan: SearchPlan, exact: boolean, stop: AbortSignal): Promise<Answered> {
  const { mode, query, alpha, fields } = plan;
  const shared = {
    ...decidingFields(plan),
    include_text: true,
    include_timing: true,
    total: true,
    ...(fields === null ? {} : { fields }),
    ...(hasText(plan) ? { highlight: { fragments: 1, size: EXCERPT_MAX } } : {}),
  };
  const [url, body] = {
    text: () => [path('/v1/collections/', collection, '/search'), { ...shared, text: query, exact }] as const,
    vector: () =>
      [path('/v1/collections/', collection, '/search'), { ...shared, vector: vectorFromText(query), exact }] as const,
    hybrid: () =>
      [
        path('/v1/collections/', collection, '/hybrid_search'),
        { ...shared, query_text: query, alpha, explain: true },
      ] as const,
    item: () => [path('/v1/collections/', collection, '/recommend/', query.trim()), { ...shared, exact }] as const,
  }[mode]();
  const from = performance.now();
  const answer = await call<
    'post_collections_name_search' | 'post_collections_name_hybrid_search' | 'post_collections_name_recommend_id'
  >('POST', url, { body, signal: stop });
  const groups = answer.groups ?? null;
  return {
    hits: answer.results ?? groups?.flatMap((group) => group.hits) ?? [],
    groups,
    total: answer.total_matches ?? 0,
    roundTripMs: performance.now() - from,
    timing: answer.timing_ms ?? null,
  };
}
