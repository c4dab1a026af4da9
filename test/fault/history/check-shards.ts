import { describeOperation, type Operation } from './operation';
import type { Violation } from './violation';

/**
 * How many shards a collection shows: those that it began with until a reshard was asked for, then those or the ones
 * that were asked for. The next reshard that begins says which of the two it had become, and one that was given up in
 * time never takes over. A reshard whose begin has no known end may begin at any later time.
 */
export function checkShards(operations: readonly Operation[], first: number): Violation[] {
  const reshards = operations.filter(({ kind, outcome }) => kind === 'reshard' && outcome !== 'fail');
  const cancels = operations.filter(({ kind, outcome }) => kind === 'cancel_reshard' && outcome === 'ok');
  const violations: Violation[] = [];
  for (const operation of operations) {
    const { shards } = operation.result;
    if (
      operation.outcome !== 'ok' ||
      shards === undefined ||
      (operation.kind !== 'count' && operation.kind !== 'reshard')
    )
      continue;
    const { from, latest } = lastKnown(reshards, operation, first);
    const isUncertain = ({ index, outcome, inv, ret }: Operation): boolean =>
      index !== operation.index && inv < operation.ret && (outcome === 'unknown' || ret > (latest?.inv ?? -Infinity));
    const others = reshards.filter((one) => one !== latest && isUncertain(one));
    const possible = new Set([from, ...others.map(({ args }) => args.shards!)]);
    // It may have been another one that was given up.
    const isGivenUp =
      others.length === 0 && latest !== null && cancels.some(({ inv, ret }) => inv > latest.ret && ret < operation.inv);
    if (latest !== null && !isGivenUp) possible.add(latest.args.shards!);
    if (possible.has(shards)) continue;
    violations.push({
      rule: 'shards: impossible',
      sentence: `${describeOperation(operation)} showed ${shards} shards, where ${[...possible].join(' or ')} are possible${latest === null ? '' : `, after ${describeOperation(latest)}${isGivenUp ? ', which was given up' : ''}`}`,
      operations: latest === null ? [operation] : [latest, operation],
    });
  }
  return violations;
}

/** The last reshard that is known to have begun before the operation, and what the collection had then. */
function lastKnown(
  reshards: Operation[],
  { inv, index }: Operation,
  first: number,
): { from: number; latest: Operation | null } {
  const latest = reshards.findLast((one) => one.index !== index && one.outcome === 'ok' && one.ret < inv) ?? null;
  return { from: latest?.result.shards ?? first, latest };
}
