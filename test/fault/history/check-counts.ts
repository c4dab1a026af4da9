import type { KeyTimeline } from './key-timeline';
import { describeOperation, type Operation } from './operation';
import type { Violation } from './violation';

/**
 * Every number of vectors that was answered lies between the ids that were there all the while and the ids that may
 * have been there at some time meanwhile. The collection holds nothing but the history's ids.
 */
export function checkCounts(
  operations: readonly Operation[],
  timelines: ReadonlyMap<string, KeyTimeline>,
): Violation[] {
  const violations: Violation[] = [];
  for (const operation of operations) {
    const { outcome, result, inv, ret } = operation;
    if (outcome !== 'ok' || result.count === undefined) continue;
    let atLeast = 0;
    let atMost = 0;
    for (const timeline of timelines.values()) {
      if (timeline.presentThroughout(inv, ret) !== null) atLeast += 1;
      if (timeline.mayBePresent(inv, ret)) atMost += 1;
    }
    if (result.count >= atLeast && result.count <= atMost) continue;
    violations.push({
      rule: 'count: out of bounds',
      sentence: `${describeOperation(operation)} answered ${result.count} vectors, but ${atLeast} were there all the while and ${atMost} at most`,
      operations: [operation],
    });
  }
  return violations;
}
