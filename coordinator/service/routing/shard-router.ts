import { shardOf } from '../../../shared/contract/shard/shard-of';

export { hashExternalId, shardOf } from '../../../shared/contract/shard/shard-of';

/** The part of a call that goes to one shard; `positions` are its items' positions in the call, ascending. */
export interface ShardGroup<T> {
  shard: number;
  items: T[];
  positions: number[];
}

/**
 * Splits a call by shard, in ascending order; the items of each shard stay in the order of the call. Omits shards
 * without items.
 */
export function groupByShard<T>(items: T[], shardCount: number, externalIdOf: (item: T) => string): ShardGroup<T>[] {
  const groups = new Map<number, ShardGroup<T>>();
  for (let i = 0; i < items.length; i += 1) {
    const shard = shardOf(externalIdOf(items[i]), shardCount);
    let group = groups.get(shard);
    if (group === undefined) {
      group = { shard, items: [], positions: [] };
      groups.set(shard, group);
    }
    group.items.push(items[i]);
    group.positions.push(i);
  }
  return [...groups.values()].sort((a, b) => a.shard - b.shard);
}

/** Puts the shards' answers, one per item and in the order of the groups, back into the order of the call. */
export function inCallOrder<T, R>(groups: ShardGroup<T>[], answers: R[][]): R[] {
  if (groups.length === 1) return answers[0];
  const ordered: R[] = new Array(groups.reduce((sum, group) => sum + group.items.length, 0));
  groups.forEach((group, i) => group.positions.forEach((position, j) => (ordered[position] = answers[i][j])));
  return ordered;
}
