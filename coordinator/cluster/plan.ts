import { planFailovers } from './plan-failovers';
import { planMoves } from './plan-moves';
import { planNewShards } from './plan-new-shards';
import type { ClusterPicture, PlannedChange } from './planned-change';

/**
 * The next changes that bring the cluster towards what it should be: every shard assigned, led, with as many replicas as
 * its collection asks for, off the nodes that drain or are lost, and evenly spread. At most one change per shard; each
 * holds by itself, so that any of them may fail.
 */
export function planChanges(picture: ClusterPicture): PlannedChange[] {
  const changes = [...planNewShards(picture), ...planFailovers(picture)];
  const touched = new Set(changes.map(({ path }) => path));
  return [...changes, ...planMoves(picture).filter(({ path }) => !touched.has(path))];
}
