import { scoreOf, type Metric } from '../../../shared/contract/vector/metric';
import { impossibleItem } from './check-reads';
import type { KeyTimeline } from './key-timeline';
import { describeOperation, type Operation, type SeenHit } from './operation';
import { groupOf, vectorOf } from './written-value';
import type { Violation } from './violation';

/** Largest difference of scores computed in single and in double precision, of vectors as short as the workload's. */
const SCORE_TOLERANCE = 1e-5;

/**
 * Searches and hybrid searches: every hit may have been live with the version that is shown, no more than k, each id
 * once, finite scores, highest first and equal ones by id. A search's score is the one of the version shown; an exact
 * search misses nothing that was live all the while and better than its last hit.
 */
export function checkSearches(
  operations: readonly Operation[],
  timelines: ReadonlyMap<string, KeyTimeline>,
  metric: Metric,
): Violation[] {
  const violations: Violation[] = [];
  for (const operation of operations) {
    const { kind, outcome, result } = operation;
    if (outcome !== 'ok' || (kind !== 'search' && kind !== 'hybrid')) continue;
    const hits = result.hits ?? [];
    for (const hit of hits) {
      const impossible = impossibleItem(kind, hit, timelines.get(hit.id), operation);
      if (impossible !== null) violations.push(impossible);
    }
    const faults = [...formFaults(operation, hits), ...(kind === 'search' ? scoreFaults(operation, hits, metric) : [])];
    if (operation.args.exact === true && kind === 'search')
      faults.push(...missingFaults(operation, hits, timelines, metric));
    for (const [fault, sentence] of faults)
      violations.push({
        rule: `${kind}: ${fault}`,
        sentence: `${describeOperation(operation)} ${sentence}`,
        operations: [operation],
      });
  }
  return violations;
}

type Fault = [fault: string, sentence: string];

function formFaults({ args }: Operation, hits: SeenHit[]): Fault[] {
  const faults: Fault[] = [];
  if (args.k !== undefined && hits.length > args.k)
    faults.push(['too many', `answered ${hits.length} hits for k=${args.k}`]);
  const ids = new Set<string>();
  hits.forEach((hit, i) => {
    if (ids.has(hit.id)) faults.push(['twice', `answered ${hit.id} twice`]);
    ids.add(hit.id);
    if (!Number.isFinite(hit.score)) faults.push(['no score', `answered ${hit.id} with the score ${hit.score}`]);
    if (args.group !== undefined && hit.value !== null && groupOf(hit.value) !== args.group) {
      faults.push(['filter', `of group ${args.group} answered ${hit.id}=${hit.value} of another`]);
    }
    const next = hits[i + 1];
    if (next !== undefined && (hit.score < next.score || (hit.score === next.score && hit.id > next.id))) {
      faults.push(['unsorted', `answered ${hit.id} (${hit.score}) before ${next.id} (${next.score})`]);
    }
  });
  return faults;
}

function scoreFaults({ args }: Operation, hits: SeenHit[], metric: Metric): Fault[] {
  if (args.query === undefined) return [];
  const query = vectorOf(args.query);
  const faults: Fault[] = [];
  for (const { id, value, score } of hits) {
    if (value === null) continue;
    const expected = scoreOf(metric, query, vectorOf(value));
    if (Math.abs(expected - score) > SCORE_TOLERANCE * Math.max(1, Math.abs(expected))) {
      faults.push([
        'wrong score',
        `answered ${id}=${value} with the score ${score}, which is ${expected} for that version`,
      ]);
    }
  }
  return faults;
}

function missingFaults(
  { args, inv, ret }: Operation,
  hits: SeenHit[],
  timelines: ReadonlyMap<string, KeyTimeline>,
  metric: Metric,
): Fault[] {
  const { query, k, group } = args;
  if (query === undefined || k === undefined) return [];
  const vector = vectorOf(query);
  const shown = new Set(hits.map(({ id }) => id));
  const bar = hits.length < k ? -Infinity : hits[hits.length - 1].score + SCORE_TOLERANCE;
  const faults: Fault[] = [];
  for (const [id, timeline] of timelines) {
    if (shown.has(id)) continue;
    const value = timeline.valueThroughout(inv, ret);
    if (value === null || (group !== undefined && groupOf(value) !== group)) continue;
    const score = scoreOf(metric, vector, vectorOf(value));
    if (score > bar) faults.push(['missing', `missed ${id}=${value} with the score ${score}, live all the while`]);
  }
  return faults;
}
