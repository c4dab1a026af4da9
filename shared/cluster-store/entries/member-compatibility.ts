import type { ClusterStore } from '../cluster-store';
import { QuiverError } from '../../base/errors/quiver-error';
import type { Logger } from '../../base/logs/logger';
import { incompatibilityOf, type MemberVersion, versionFromFields } from '../../base/process/member-version';
import { COORDINATORS_PREFIX, memberFromEntry, type NodeMember, NODES_PREFIX } from './members';

/**
 * Refuses to join a cluster of whose members one can't work with this program. Members that join at the same time don't
 * see each other here; their handshakes refuse the same. `ownKey`: the entry of this member, which an earlier life of
 * it may have left. An unreadable entry is logged and left out. Errors: invalid_parameter, which names both versions;
 * unavailable.
 */
export async function mustWorkWithMembers(
  store: Pick<ClusterStore, 'list'>,
  { own, ownKey, log }: { own: MemberVersion; ownKey: string; log: Pick<Logger, 'error'> },
): Promise<void> {
  for (const prefix of [NODES_PREFIX, COORDINATORS_PREFIX]) {
    for (const entry of (await store.list(prefix)).entries) {
      if (entry.key === ownKey) continue;
      const tooFar = incompatibilityWith(entry, own, log);
      if (tooFar !== null) throw new QuiverError('invalid_parameter', tooFar);
    }
  }
}

function incompatibilityWith(
  entry: { key: string; value: string },
  own: MemberVersion,
  log: Pick<Logger, 'error'>,
): string | null {
  try {
    const { id, ...fields } = memberFromEntry<NodeMember>(entry);
    return incompatibilityOf(own, versionFromFields(fields), id);
  } catch (error) {
    log.error({ error, key: entry.key }, 'an entry of the cluster store is unreadable and left out');
    return null;
  }
}
