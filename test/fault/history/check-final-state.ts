import { describeOperation, type Operation } from './operation';
import type { Violation } from './violation';
import { groupOf } from './written-value';

/**
 * The last exhaustive read: through every coordinator and in every way (by ids, export, scroll, exact search with k for
 * all, counts; scrolls and searches by group as well) the same items with the same values, and exports in the same
 * order.
 */
export function checkFinalState(operations: readonly Operation[]): Violation[] {
  const finals = operations.filter(({ final, outcome }) => final && outcome === 'ok');
  const violations: Violation[] = [];
  const failed = operations.filter(({ final, outcome }) => final && outcome !== 'ok');
  for (const operation of failed) {
    violations.push({
      rule: 'final: unanswered',
      sentence: `${describeOperation(operation)} of the final read failed: ${operation.message ?? 'no answer'}`,
      operations: [operation],
    });
  }
  const first = finals.find(({ kind }) => kind === 'export');
  if (first === undefined) return violations;
  const order = (first.result.items ?? []).map(textOf);
  const sorted = [...order].sort();
  const differs = (operation: Operation, what: string): void => {
    violations.push({
      rule: 'final: unequal',
      sentence: `${describeOperation(operation)} ${what}, unlike ${describeOperation(first)} with ${order.length} items`,
      operations: [first, operation],
    });
  };
  const shards = finals.find(({ result }) => result.shards !== undefined)?.result.shards;
  const idsAsked = new Set(finals.filter(({ kind }) => kind === 'fetch').flatMap(({ ids }) => ids));
  for (const operation of finals) {
    const { kind, result, args, ids } = operation;
    if (result.count !== undefined && result.count !== order.length) differs(operation, `counted ${result.count}`);
    if (result.shards !== undefined && result.shards !== shards)
      differs(operation, `showed ${result.shards} shards and not ${shards}`);
    const items = (result.items ?? result.hits ?? []).map(textOf);
    const { group } = args;
    if (group !== undefined) {
      const expected = (first.result.items ?? [])
        .filter(({ value }) => value !== null && groupOf(value) === group)
        .map(textOf);
      const difference = firstDifference([...items].sort(), expected.sort());
      if (difference !== null)
        differs(operation, `showed ${items.length} items of group ${group}, where ${difference} differs`);
    } else if (kind === 'export' || kind === 'scroll') {
      const i = items.findIndex((item, place) => item !== order[place]);
      if (i >= 0 || items.length !== order.length)
        differs(
          operation,
          `showed ${items.length} items, item ${i < 0 ? items.length : i} being ${items[i] ?? 'none'}`,
        );
    } else if (kind === 'search') {
      const difference = firstDifference([...items].sort(), sorted);
      if (difference !== null) differs(operation, `showed ${items.length} items, where ${difference} differs`);
    } else if (kind === 'fetch') {
      const asked = new Set(ids);
      const expected = sorted.filter((text) => asked.has(idOf(text)));
      const difference = firstDifference([...items].sort(), expected);
      if (difference !== null) differs(operation, `showed ${items.length} items, where ${difference} differs`);
    }
  }
  for (const text of sorted)
    if (idsAsked.size > 0 && !idsAsked.has(idOf(text))) differs(first, `showed ${text}, an id that was never written`);
  return violations;
}

function textOf({ id, value }: { id: string; value: string | null }): string {
  return `${id}=${value}`;
}

function idOf(text: string): string {
  return text.slice(0, text.lastIndexOf('='));
}

/** Of two sorted lists: the first text that only one of them has. */
function firstDifference(a: string[], b: string[]): string | null {
  const other = new Set(b);
  const own = new Set(a);
  return a.find((text) => !other.has(text)) ?? b.find((text) => !own.has(text)) ?? null;
}
