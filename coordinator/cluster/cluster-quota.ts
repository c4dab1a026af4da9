import type { CollectionQuota } from '../collections/collection-quota';
import type { ClusterMap } from './cluster-map';

/**
 * The quota of a cluster: its nodes have room for so many replicas each, and every shard takes up as many as its collection
 * asks for. Nodes that are away count, because they come back; where to put the replicas of a shard is the controller's to
 * find, and it gives none to a node that is full.
 */
export function clusterQuota(map: Pick<ClusterMap, 'usableNodes'>, collectionsMax: number): CollectionQuota {
  return {
    collectionsMax,
    shardsOf: ({ shards, replicas }) => shards * replicas,
    room: () => {
      const nodes = map.usableNodes();
      // Without a node nothing is known of room, and nothing can be created either.
      const shardsMax = nodes.length === 0 ? Infinity : nodes.reduce((sum, node) => sum + (node.shardsMax ?? Infinity), 0);
      return { shardsMax, source: `MAX_SHARDS of the nodes (${nodes.length}) together` };
    },
  };
}
