import { z } from 'zod';
import { reshardAnswer, vectorCount } from './collection-schemas';

export const nodePath = z.object({ id: z.string().min(1).max(255) });

export const shardPath = z.object({ collection: z.string().min(1).max(255), shard: z.coerce.number().int().min(0) });
export const adoptBody = z.object({ node: z.string().min(1).max(255) });
export const adoptAnswer = z.object({
  collection: z.string(),
  shard: z.int(),
  primary: z.string(),
  epoch: z.int(),
  earlier_epoch: z.int(),
});

export const healthAnswer = z.object({
  status: z.enum(['ok', 'degraded']).meta({ description: 'degraded: a shard does not answer; all others serve.' }),
  total_vectors: z.int().meta({ description: 'Of the collections that can be counted.' }),
  total_collections: z.int(),
  uptime_seconds: z.number(),
  collections: z.array(z.object({ name: z.string(), vector_count: vectorCount, dim: z.int() })),
  unavailable: z
    .array(z.object({ collection: z.string(), shard: z.int(), reason: z.string() }))
    .meta({ description: 'Shards that did not answer within some seconds, and why, for people.' }),
  embedding: z.object({
    configured: z.string(),
    active: z.string(),
    fallback_reason: z.string().nullable(),
    dim: z.int().nullable().meta({ description: 'Dimension of the model in use; null when it fits any.' }),
    models: z.array(z.string()).meta({ description: 'What the embedding of a collection may name.' }),
  }),
  rerank: z
    .object({ models: z.array(z.string()) })
    .meta({ description: 'Those that searches may name, the default first.' }),
});

export const nodeAnswer = z
  .object({
    id: z.string(),
    address: z.string(),
    zone: z.string(),
    pid: z.int(),
    state: z.enum(['up', 'draining', 'drained', 'down']),
    down_since: z.iso.datetime().nullable().meta({
      description: 'When a node that is down was last a member; null if it is not down, or nobody saw it go.',
    }),
    primaries: z.int(),
    replicas: z.int(),
    vectors: z.int(),
    disk_bytes: z.int(),
  })
  .meta({ id: 'Node' });

const shardAnswer = z
  .object({
    collection: z.string(),
    shard: z.int(),
    epoch: z.int(),
    primary: z.string().nullable(),
    in_sync: z.array(z.string()),
    learners: z.array(z.object({ node: z.string(), progress: z.number() })),
    state: z.enum(['ok', 'degraded', 'unavailable']),
    vectors: z.int(),
    last_op: z.int(),
    lag_ops: z.record(z.string(), z.int()).meta({ description: 'Operations each replica is behind, by node id.' }),
    later_epoch: z.int().nullable().meta({
      description:
        'The latest epoch that a node knows, when the shard map is earlier: etcd was put back from a backup.',
    }),
  })
  .meta({ id: 'Shard' });

export const clusterAnswer = z.object({
  mode: z.enum(['embedded', 'cluster']),
  controller: z.string().nullable(),
  coordinators: z.array(z.object({ id: z.string(), address: z.string(), pid: z.int(), started_at: z.iso.datetime() })),
  nodes: z.array(nodeAnswer),
  shards: z.array(shardAnswer),
  new_shards: z
    .array(shardAnswer)
    .meta({ description: 'Shards that are to take the place of those of a collection that changes their number.' }),
  moves: z.array(
    z.object({
      collection: z.string(),
      shard: z.int(),
      from: z.string(),
      to: z.string(),
      phase: z.string(),
      progress: z.number(),
    }),
  ),
  reshards: z
    .array(reshardAnswer)
    .meta({ description: 'Collections that change their number of shards, or failed to.' }),
});
