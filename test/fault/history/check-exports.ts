import { impossibleItem } from './check-reads';
import type { KeyOperation } from './key-operation';
import type { KeyTimeline } from './key-timeline';
import { describeOperation, type Operation, type SeenItem } from './operation';
import { groupOf } from './written-value';
import type { Violation } from './violation';

/**
 * Exports and scrolls: every item may have been live, none that was there all the while is missing or comes twice (one
 * that is deleted and inserted again meanwhile moves to the end, where a reader finds it once more), and the order is
 * that of insertion: what was inserted by the end of one write comes before what was first written after it, and items
 * inserted by one batch come in the order of the batch.
 */
export function checkExports(
  operations: readonly Operation[],
  timelines: ReadonlyMap<string, KeyTimeline>,
): Violation[] {
  const violations: Violation[] = [];
  for (const operation of operations) {
    if (operation.outcome !== 'ok' || (operation.kind !== 'export' && operation.kind !== 'scroll')) continue;
    const items = operation.result.items ?? [];
    violations.push(...impossibleItems(operation, items, timelines), ...missing(operation, items, timelines));
    const disorder = outOfOrder(operation, items, timelines);
    if (disorder !== null) violations.push(disorder);
  }
  return violations;
}

function impossibleItems(
  operation: Operation,
  items: SeenItem[],
  timelines: ReadonlyMap<string, KeyTimeline>,
): Violation[] {
  const found: Violation[] = [];
  const { args, kind } = operation;
  const ids = new Set<string>();
  for (const item of items) {
    if (ids.has(item.id) && timelines.get(item.id)?.presentThroughout(operation.inv, operation.ret))
      found.push({
        rule: `${kind}: twice`,
        sentence: `${describeOperation(operation)} showed ${item.id} twice`,
        operations: [operation],
      });
    ids.add(item.id);
    const violation = impossibleItem(kind, item, timelines.get(item.id), operation);
    if (violation !== null) found.push(violation);
    if (args.group !== undefined && item.value !== null && groupOf(item.value) !== args.group) {
      found.push({
        rule: `${kind}: filter`,
        sentence: `${describeOperation(operation)} of group ${args.group} showed ${item.id}=${item.value} of another`,
        operations: [operation],
      });
    }
  }
  const { limit } = args;
  if (limit !== undefined && items.length > limit) {
    found.push({
      rule: `${kind}: too many`,
      sentence: `${describeOperation(operation)} showed ${items.length} items, ${limit} at most were asked for`,
      operations: [operation],
    });
  }
  return found;
}

/** Only what reaches the end of the collection can miss something. */
function missing(operation: Operation, items: SeenItem[], timelines: ReadonlyMap<string, KeyTimeline>): Violation[] {
  const { args, inv, ret, kind } = operation;
  if (args.limit !== undefined && items.length >= args.limit) return [];
  const shown = new Set(items.map(({ id }) => id));
  const found: Violation[] = [];
  for (const [id, timeline] of timelines) {
    if (shown.has(id)) continue;
    if (args.group === undefined) {
      const evidence = timeline.presentThroughout(inv, ret);
      if (evidence === null) continue;
      found.push({
        rule: `${kind}: missing`,
        sentence: `${describeOperation(operation)} did not show ${id}, there since ${describeOperation(evidence.source, id)}`,
        operations: [evidence.source, operation],
      });
    } else {
      const value = timeline.valueThroughout(inv, ret);
      if (value === null || groupOf(value) !== args.group) continue;
      found.push({
        rule: `${kind}: missing`,
        sentence: `${describeOperation(operation)} of group ${args.group} did not show ${id}=${value}`,
        operations: [operation],
      });
    }
  }
  return found;
}

function outOfOrder(
  operation: Operation,
  items: SeenItem[],
  timelines: ReadonlyMap<string, KeyTimeline>,
): Violation | null {
  let latest: { item: SeenItem; earliest: number } | null = null;
  /** By batch: the place in it of the last item seen that it inserted. */
  const places = new Map<Operation, { item: SeenItem; origin: KeyOperation }>();
  for (const item of items) {
    const timeline = timelines.get(item.id);
    if (timeline === undefined || item.value === null) continue;
    const insertion = timeline.insertionOf(item.value, operation.ret);
    if (latest !== null && insertion.latest < latest.earliest) {
      return disorder(operation, latest.item, item, 'which was there before the other was first written');
    }
    if (latest === null || insertion.earliest > latest.earliest) latest = { item, earliest: insertion.earliest };
    const { origin } = insertion;
    if (origin === null) continue;
    const before = places.get(origin.source);
    if (before !== undefined && before.origin.position > origin.position) {
      return disorder(
        operation,
        before.item,
        item,
        `against the order of the batch ${describeOperation(origin.source)} that inserted both`,
      );
    }
    places.set(origin.source, { item, origin });
  }
  return null;
}

function disorder(operation: Operation, first: SeenItem, second: SeenItem, why: string): Violation {
  return {
    rule: `${operation.kind}: out of order`,
    sentence: `${describeOperation(operation)} showed ${first.id}=${first.value} before ${second.id}=${second.value}, ${why}`,
    operations: [operation],
  };
}
