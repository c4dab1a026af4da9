import { call, path } from '../api/client';
import type { Hit, StoredItem, Timing } from '../api/shapes';
import { type Condition, filtersOf } from '../filters/filter-model';
import { recallOf } from './recall';

export const MODES = { text: 'Meaning', hybrid: 'Hybrid', item: 'Like an item', vector: 'Vector' } as const;
export type Mode = keyof typeof MODES;

/** What the form holds. */
export interface SearchPlan {
  mode: Mode;
  /** A text, an external_id, or numbers as JSON, by the mode. */
  query: string;
  k: number;
  alpha: number;
  conditions: Condition[];
  /** Ask once more, comparing with every vector. */
  besideExact: boolean;
}

export interface Answered {
  hits: Hit[];
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
  /** Texts of the hits by id: a search answers metadata only. */
  texts: Map<string, string>;
}

/** Ids that one fetch takes. */
const FETCH_MAX = 100;

export async function runSearch(collection: string, plan: SearchPlan, stop: AbortSignal): Promise<SearchOutcome> {
  const calibrated = await ask(collection, plan, false, stop);
  const exact = plan.besideExact && hasExact(plan.mode) ? await ask(collection, plan, true, stop) : null;
  const ids = [...new Set([...calibrated.hits, ...(exact?.hits ?? [])].map(({ external_id: id }) => id))];
  const texts = await textsOf(collection, ids, stop);
  return { plan, calibrated, exact, recall: exact === null ? null : recallOf(calibrated.hits, exact.hits), texts };
}

/** Whether a mode can be asked exactly: recommend and hybrid search take no `exact`. */
export function hasExact(mode: Mode): boolean {
  return mode === 'text' || mode === 'vector';
}

export async function textsOf(collection: string, ids: string[], stop?: AbortSignal): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (let i = 0; i < ids.length; i += FETCH_MAX) {
    const body = { ids: ids.slice(i, i + FETCH_MAX), include_vectors: false };
    const { vectors } = await call<{ vectors: StoredItem[] }>('POST', path('/v1/collections/', collection, '/vectors/fetch'), { body, signal: stop });
    for (const { external_id: id, text } of vectors) if (text !== null) texts.set(id, text);
  }
  return texts;
}

/** The numbers of a typed vector. Throws what is wrong with it. */
export function vectorFromText(text: string): number[] {
  const list = text
    .trim()
    .replace(/^\[|\]$/g, '')
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map(Number);
  if (list.length === 0 || list.some((value) => !Number.isFinite(value))) throw new Error('A vector is a list of numbers: [0.1, 0.2, …].');
  return list;
}

async function ask(collection: string, plan: SearchPlan, exact: boolean, stop: AbortSignal): Promise<Answered> {
  const { mode, query, k, alpha, conditions } = plan;
  const filters = filtersOf(conditions);
  const shared = { k, ...(filters === undefined ? {} : { filters }) };
  const timed = { ...shared, include_timing: true };
  const [url, body] = {
    text: () => [path('/v1/collections/', collection, '/search'), { ...timed, text: query, exact }] as const,
    vector: () => [path('/v1/collections/', collection, '/search'), { ...timed, vector: vectorFromText(query), exact }] as const,
    hybrid: () => [path('/v1/collections/', collection, '/hybrid_search'), { ...timed, query_text: query, alpha, explain: true }] as const,
    item: () => [path('/v1/collections/', collection, '/recommend/', query.trim()), shared] as const,
  }[mode]();
  const from = performance.now();
  const answer = await call<{ results: Hit[]; timing_ms?: Timing }>('POST', url, { body, signal: stop });
  return { hits: answer.results, roundTripMs: performance.now() - from, timing: answer.timing_ms ?? null };
}
