import type { ClusterStore } from '../../../../shared/cluster-store/cluster-store';
import { keyFromEntry, keyPath } from '../key-record';
import { keyIdOf, type KeyWriter } from './key-quota';

type Writer = Pick<KeyWriter, 'identity' | 'quota'>;

/**
 * Whose quota a write counts in that was asked for a while ago, with the quota that the key has now; undefined: it has
 * none any more. Of a key that is gone, and of tokens, the quota of then counts. Errors: unavailable.
 */
export async function presentWriter(store: Pick<ClusterStore, 'get'>, then: Writer): Promise<Writer | undefined> {
  const id = keyIdOf(then.identity);
  const entry = id === null ? null : await store.get(keyPath(id));
  if (entry === null) return then;
  const { quota } = keyFromEntry(entry);
  return quota === null ? undefined : { ...then, quota };
}
