import { everyoneKnows, versionFromFields } from '../../shared/base/process/member-version';
import type { ClusterMap } from './cluster-map';

/** Members of each kind that a message names. */
const NAMED_MAX = 5;

/**
 * Why a feature can't be used at present: some member may be of an earlier version, which would not
 * follow. A node that is away and holds shards counts as it last was. null: all know how.
 */
export function featureObstacle(
  map: Pick<ClusterMap, 'coordinators' | 'nodes' | 'holders' | 'lastSeenNode'>,
  feature: string,
  what: string,
): string | null {
  const nodes = map.holders();
  for (const { value } of map.nodes.all()) nodes.add(value.id);
  const members = [
    ...map.coordinators.all().map(({ value }) => ({ id: value.id, fields: value })),
    ...[...nodes].map((id) => ({ id, fields: map.lastSeenNode(id) })),
  ];
  const unable = members.filter(
    ({ fields }) => !everyoneKnows(feature, [fields === null ? null : versionFromFields(fields)]),
  );
  if (unable.length === 0) return null;
  const earlier = unable.filter(({ fields }) => fields !== null).map(({ id }) => id);
  const unknown = unable.filter(({ fields }) => fields === null).map(({ id }) => id);
  const reasons = [
    ...(earlier.length > 0 ? [`${named(earlier)} ${earlier.length === 1 ? 'is' : 'are'} of an earlier version`] : []),
    ...(unknown.length > 0
      ? [
          `${named(unknown)} ${unknown.length === 1 ? 'is' : 'are'} away, and nobody noted of which version: start or drain ${unknown.length === 1 ? 'it' : 'them'}`,
        ]
      : []),
  ];
  return `${what} once every member is known to be able to: ${reasons.join('; ')}`;
}

function named(ids: string[]): string {
  const more = ids.length - NAMED_MAX;
  return ids.sort().slice(0, NAMED_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
