import type { CoordinatorMember } from '../../../shared/cluster-store/entries/members';
import type { RpcChannels } from '../../../shared/wire/streams/rpc-channels';
import type { ClusterMap } from '../../cluster/cluster-map';
import { PeerLimits } from '../../cluster/calls/peer-limits';
import type { RateLimiter } from '../../service/limits/rate-limiter';
import { SharedLimiter } from '../../service/limits/shared-limiter';
import type { ThreadHandlers, ThreadPeer } from '../../../shared/base/threads/thread-peer';

type Peer = Pick<CoordinatorMember, 'id' | 'peerAddress'>;

/**
 * The coordinators that share the limits of keys, on an HTTP thread of one of them. The main thread tells who they are;
 * the thread asks them by itself.
 */
export class HttpThreadCoordinators {
  private readonly ownId: string;
  private readonly limit: number;
  private readonly addresses = new Map<string, string>();
  private readonly peers: PeerLimits;
  private limiter: SharedLimiter | null = null;

  /** `limit`: of keys that have none of their own. */
  constructor(parts: { ownId: string; limit: number; channels: RpcChannels }) {
    this.ownId = parts.ownId;
    this.limit = parts.limit;
    this.peers = new PeerLimits({ addressOf: (id) => this.addresses.get(id), channels: parts.channels });
  }

  /** The limiter of all coordinators together, from that which counts in this process. To be called once. */
  limiterAround(local: RateLimiter): RateLimiter {
    this.limiter = new SharedLimiter({
      ownId: this.ownId,
      limit: this.limit,
      local,
      askOwner: (id, subject) => this.peers.ask(id, subject),
    });
    return this.limiter;
  }

  /** What the main thread tells. */
  get handlers(): ThreadHandlers {
    return {
      'coordinators.put': (members: Peer[]) => {
        this.addresses.clear();
        for (const { id, peerAddress } of members) this.addresses.set(id, peerAddress);
        this.limiter?.setMembers(members.map(({ id }) => id));
      },
    };
  }

  close(): void {
    this.peers.close();
  }
}

/** Tells an HTTP thread who the coordinators are, and from now on each change. Answers what ends that. */
export function publishCoordinators(map: Pick<ClusterMap, 'coordinators'>, peer: Pick<ThreadPeer, 'tell'>): () => void {
  const tell = (): void =>
    peer.tell(
      'coordinators.put',
      map.coordinators.all().map(({ value: { id, peerAddress } }): Peer => ({ id, peerAddress })),
    );
  tell();
  return map.coordinators.onChange(tell);
}
