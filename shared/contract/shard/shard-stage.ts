/**
 * Where a shard is on the way of its items to another set of shards (docs/architecture/resharding.md). `open`: as every
 * shard. `tracking`: it notes which ids are changed. `sealed`: it takes no writes. `closed`: it answers no reads,
 * either. `filling`: it takes the items of other shards, and nothing else.
 */
export const SHARD_STAGES = ['open', 'tracking', 'sealed', 'closed', 'filling'] as const;
export type ShardStage = (typeof SHARD_STAGES)[number];
