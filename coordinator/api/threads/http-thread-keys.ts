import type { Clock } from '../../../shared/base/time/clock';
import type { KeyDirectory, KeyFollower } from '../../service/keys/key-directory';
import { keyInUse } from '../../service/keys/key-record';
import type { KeyInUse, KeysService } from '../../service/keys/keys-service';
import { remote, type ThreadPeer } from '../../../shared/base/threads/thread-peer';

/** The keys on an HTTP thread: `authenticate` by `directory`, which follows the main thread's; all else there. */
export function httpThreadKeys(parts: { main: ThreadPeer; directory: KeyDirectory; clock: Clock }): KeysService {
  const { list, unreadable, get, create, update, rotate, delete: remove } = remote<KeysService>(parts.main, 'keys');
  return {
    authenticate: (secret): KeyInUse | null => {
      const record = parts.directory.authenticate(secret, parts.clock.wallMs());
      return record === null ? null : keyInUse(record);
    },
    list,
    unreadable,
    get,
    create,
    update,
    rotate,
    delete: remove,
  };
}

/** Tells an HTTP thread the keys, and from now on each change. Answers what ends that. */
export function publishKeys(
  keys: { follow(follower: KeyFollower): () => void },
  peer: Pick<ThreadPeer, 'tell'>,
): () => void {
  return keys.follow({
    put: (record, place) => peer.tell('keys.put', record, place),
    remove: (id, place) => peer.tell('keys.remove', id, place),
  });
}
