import { everyoneKnows, type Feature, versionFromFields } from '../../shared/process/member-version';
import type { ClusterMap } from './cluster-map';

/**
 * Why a feature can't be used at present: some member may be of an earlier version, which would not
 * follow. A node that is away and holds shards counts as it last was. null: all know how.
 */
export function featureObstacle(map: Pick<ClusterMap, 'coordinators' | 'nodes' | 'assignments' | 'lastSeenNode'>, feature: Feature, what: string): string | null {
  const holders = new Set(map.assignments.all().flatMap(({ value }) => value.replicas));
  for (const { value } of map.nodes.all()) holders.add(value.id);
  const members = [...map.coordinators.all().map(({ value }) => ({ id: value.id, fields: value })), ...[...holders].map((id) => ({ id, fields: map.lastSeenNode(id) }))];
  const unable = members.filter(({ fields }) => !everyoneKnows(feature, [fields === null ? null : versionFromFields(fields)])).map(({ id }) => id);
  if (unable.length === 0) return null;
  return `${what} once every member is known to be able to: ${unable.sort().slice(0, 5).join(', ')} ${unable.length === 1 ? 'is' : 'are'} of an earlier version, or not seen yet`;
}
