import type { NodeView, OperationsService, ShardView } from '../../cluster/operations/operations-service';
import { seeingOf, seenBy } from '../requests/authorisation';
import { type AliasLookUp, UNKNOWN_COUNT } from '../../service/service';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import { reshardData } from '../answers/reshard-data';
import * as schemas from '../schema/operations-schemas';

const tag = 'Operations';

function nodeData(view: NodeView) {
  return {
    id: view.id,
    address: view.address,
    zone: view.zone,
    pid: view.pid,
    state: view.state,
    down_since: view.downSince,
    primaries: view.primaries,
    replicas: view.replicas,
    vectors: view.vectors,
    disk_bytes: view.diskBytes,
  };
}

function shardData(view: ShardView) {
  return {
    collection: view.collection,
    shard: view.shard,
    epoch: view.epoch,
    primary: view.primary,
    in_sync: view.inSync,
    learners: view.learners,
    state: view.state,
    vectors: view.vectors,
    last_op: view.lastOperation,
    lag_ops: view.lagOperations,
    later_epoch: view.laterEpoch,
  };
}

export function operationsEndpoints(parts: { operations: OperationsService; aliases: AliasLookUp }): Endpoint[] {
  const { operations, aliases } = parts;
  return [
    defineEndpoint({
      method: 'GET',
      template: '/v1/health',
      isWatched: true,
      access: 'readonly',
      collections: { type: 'own' },
      sheds: false,
      tag,
      summary: 'Whether the service is well, and what it holds',
      answer: { type: 'data', schema: schemas.healthAnswer },
      handle: async ({ key }) => {
        const seeing = await seeingOf(key, aliases);
        const health = await operations.health(seeing);
        const collections = seenBy(seeing, health.collections);
        const unavailable = collections.flatMap(({ name, unavailableShards }) =>
          unavailableShards.map(({ shard, reason }) => ({ collection: name, shard, reason })),
        );
        return dataAnswer({
          status: unavailable.length === 0 ? ('ok' as const) : ('degraded' as const),
          total_vectors: collections.reduce(
            (total, { vectorCount }) => total + (vectorCount === UNKNOWN_COUNT ? 0 : vectorCount),
            0,
          ),
          total_collections: collections.length,
          uptime_seconds: health.uptimeSeconds,
          collections: collections.map(({ name, vectorCount, dim }) => ({ name, vector_count: vectorCount, dim })),
          unavailable,
          embedding: {
            configured: health.embedding.configured,
            active: health.embedding.active,
            fallback_reason: health.embedding.fallbackReason,
            dim: health.embedding.dim,
            models: [...health.embedding.models],
          },
          rerank: { models: health.rerankModels },
        });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/cluster',
      isWatched: true,
      access: 'admin',
      tag,
      summary: 'Nodes, shards, moves and reshards',
      answer: { type: 'data', schema: schemas.clusterAnswer },
      handle: async () => {
        const { mode, controller, coordinators, nodes, shards, newShards, moves, reshards } =
          await operations.cluster();
        return dataAnswer({
          mode,
          controller,
          coordinators: coordinators.map(({ id, address, pid, startedAt }) => ({
            id,
            address,
            pid,
            started_at: startedAt,
          })),
          nodes: nodes.map(nodeData),
          shards: shards.map(shardData),
          new_shards: newShards.map(shardData),
          moves,
          reshards: reshards.map(reshardData),
        });
      },
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/cluster/nodes/{id}/drain',
      access: 'admin',
      tag,
      summary: 'Move every shard away from a node',
      path: schemas.nodePath,
      answer: { type: 'data', schema: schemas.nodeAnswer },
      errors: [404],
      handle: async ({ path }) => dataAnswer(nodeData(await operations.drain(path.id))),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/cluster/nodes/{id}/undrain',
      access: 'admin',
      tag,
      summary: 'Let a node hold shards again',
      path: schemas.nodePath,
      answer: { type: 'data', schema: schemas.nodeAnswer },
      errors: [404],
      handle: async ({ path }) => dataAnswer(nodeData(await operations.undrain(path.id))),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/cluster/shards/{collection}/{shard}/adopt',
      access: 'admin',
      tag,
      summary: 'Make one replica of a shard what counts, after etcd was put back',
      description:
        'Only for a shard with a `later_epoch`, where the cluster can not tell what was in force. The node leads, and other replicas are copied from it: what it lacks is lost.',
      path: schemas.shardPath,
      body: { type: 'json', required: true, schema: schemas.adoptBody, example: { node: 'node-0' } },
      answer: { type: 'data', schema: schemas.adoptAnswer },
      errors: [404],
      handle: async ({ path, body, resolve, about }) => {
        const collection = await resolve(path.collection);
        about(`shard:${collection}/${path.shard}`);
        const { earlierEpoch, ...adopted } = await operations.adopt(collection, path.shard, body.node);
        return dataAnswer({ ...adopted, earlier_epoch: earlierEpoch });
      },
    }),
  ];
}
