import type { CollectionQuota } from '../service/collections/collection-quota';
import type { ClusterMap } from './cluster-map';

/**
 * The quota of a cluster. Each of its nodes has room for a number of replicas, and each shard takes as many as its
 * collection asks for. Nodes that are away count, because they come back. The controller decides where replicas go, and
 * gives none to a full node.
 */
export function clusterQuota(map: Pick<ClusterMap, 'usableNodes'>, collectionsMax: number): CollectionQuota {
  return {
    collectionsMax,
    shardsOf: ({ shards, replicas }) => shards * replicas,
    room: () => {
      const nodes = map.usableNodes();
      // Without a node, the room is unknown, and nothing can be created anyway.
      const shardsMax =
        nodes.length === 0 ? Infinity : nodes.reduce((sum, node) => sum + (node.shardsMax ?? Infinity), 0);
      return { shardsMax, source: `MAX_SHARDS of the nodes (${nodes.length}) together` };
    },
  };
}
