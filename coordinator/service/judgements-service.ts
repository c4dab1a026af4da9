import type { JobView } from './jobs-service';

/** A query, and how good items are as its answer. */
export interface JudgedQuery {
  query: string;
  /** Grades above 0, or 0 for an item that was found to be no answer, by external id; one at least is above 0. */
  relevant: ReadonlyMap<string, number>;
}

export interface JudgementsView {
  name: string;
  queries: number;
  /** Grades of all queries. */
  grades: number;
  /** ISO 8601, UTC. */
  updatedAt: string;
}

export interface EvaluationRequest {
  /** Of the judgements. */
  name: string;
  /** Bodies of POST /v1/query, without what says where and what to look for, and how many hits. */
  variants: readonly Record<string, unknown>[];
  /** How many hits of each query count. */
  k: number;
}

/**
 * Judged queries of a collection, by name, and how good searches are by them. They go with the collection; backups do
 * not have them.
 */
export interface JudgementsService {
  /** By name. Errors: not_found; unavailable. */
  list(collection: string): Promise<JudgementsView[]>;
  /** Errors: not_found; unavailable. */
  get(collection: string, name: string): Promise<JudgementsView & { judged: JudgedQuery[] }>;
  /** In the place of what is there under the name. Errors: not_found; limit_exceeded; unavailable. */
  put(collection: string, name: string, judged: readonly JudgedQuery[]): Promise<JudgementsView>;
  /** Errors: not_found; unavailable. */
  delete(collection: string, name: string): Promise<void>;
  /** Begins a job that asks all queries in all variants. Errors: not_found; limit_exceeded; unavailable. */
  evaluate(collection: string, request: EvaluationRequest): Promise<JobView>;
}
