/**
 * The steps of a search: `parse` reads and checks the body, `route` finds the collection, `embed` turns text into a
 * vector, `node` waits for the shards, `merge` joins their answers, `rerank` has a model read them, `serialise` writes
 * the answer.
 */
export const SEARCH_PHASES = ['parse', 'route', 'embed', 'node', 'merge', 'rerank', 'serialise'] as const;
export type SearchPhase = (typeof SEARCH_PHASES)[number];

/** Gets the duration of each step of a search; must cost next to nothing. */
export interface SearchObserver {
  phase(phase: SearchPhase, durationMs: number): void;
}

export const NO_SEARCH_OBSERVER: SearchObserver = { phase: () => undefined };
