import type { Metric } from '../../../shared/contract/vector/metric';
import { checkCounts } from './check-counts';
import { checkExports } from './check-exports';
import { checkFinalState } from './check-final-state';
import { checkReads } from './check-reads';
import { checkRegisters } from './check-registers';
import { checkRefusals } from './check-refusals';
import { checkSearches } from './check-searches';
import { checkShards } from './check-shards';
import { keyOperations, type OutcomeRule } from './key-operation';
import { timelinesOf } from './key-timeline';
import type { Operation } from './operation';
import type { Violation } from './violation';

export interface CheckOptions extends OutcomeRule {
  /** The collection's. */
  metric: Metric;
  /** How many shards it began with; missing: nobody changes that. */
  shards?: number;
}

/** Holds a history of one collection, empty at its begin and written by nobody else, against every promise. */
export function checkHistory(
  operations: readonly Operation[],
  { metric, outcomes, shards }: CheckOptions,
): Violation[] {
  const timelines = timelinesOf(keyOperations(operations, { outcomes }), operations);
  return [
    ...checkReads(timelines),
    ...checkRegisters(timelines),
    ...checkCounts(operations, timelines),
    ...checkExports(operations, timelines),
    ...checkSearches(operations, timelines, metric),
    ...(shards === undefined ? [] : checkShards(operations, shards)),
    ...checkRefusals(operations),
    ...checkFinalState(operations),
  ];
}
