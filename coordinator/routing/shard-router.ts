import { hashExternalId } from './external-id-hash';

/** The part of a call that goes to one shard; `positions` are its items' places in the call, rising. */
export interface ShardGroup<T> {
  shard: number;
  items: T[];
  positions: number[];
}

/** The shard that holds an item: hash mod shards. Fixed for the life of a collection, whose shard count never changes. */
export function shardOf(externalId: string, shardCount: number): number {
  return shardCount === 1 ? 0 : hashExternalId(externalId) % shardCount;
}

/** Splits a call by shard, shards rising, the items of each in the order of the call; shards without items are left out. */
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

/** Puts the shards' answers, one per item and in the groups' order, back into the order of the call. */
export function inCallOrder<T, R>(groups: ShardGroup<T>[], answers: R[][]): R[] {
  if (groups.length === 1) return answers[0];
  const ordered: R[] = new Array(groups.reduce((sum, group) => sum + group.items.length, 0));
  groups.forEach((group, i) => group.positions.forEach((position, j) => (ordered[position] = answers[i][j])));
  return ordered;
}
