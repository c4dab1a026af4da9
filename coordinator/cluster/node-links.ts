import { type ClusterCredentials, RpcChannel, type StreamEnd } from '../../shared/rpc/rpc-channel';
import type { Clock } from '../../shared/time/clock';
import { NodeLink } from './node-link';
import { ConnectionLost } from './request-stream';

/** After a failed connection the next is made no sooner: doubling from the first, up to the last. */
const FIRST_PAUSE_MS = 20;
const LAST_PAUSE_MS = 500;

/** An address that is not asked for and not connected for this time is forgotten: nodes come back under other ones. */
const FORGET_MS = 60_000;

const CLOSED: StreamEnd = { isRefused: false, reason: 'closed' };

/**
 * The way to one address. Its channel outlives its links: grpc-js goes on connecting once more after a channel is closed
 * that could not connect, and what it then connects belongs to nobody, so such a channel is used again instead.
 */
interface Place {
  channel: RpcChannel;
  link: NodeLink | null;
  /** Connections in a row that never became ready, and why the last did not. */
  failures: number;
  lastEnd: StreamEnd;
  /** Monotonic. */
  notBeforeMs: number;
  forgetTimer: NodeJS.Timeout;
}

/** The connections to the nodes, one per address, made when first needed and again when one has ended. */
export class NodeLinks {
  private readonly places = new Map<string, Place>();
  private isClosed = false;

  constructor(private readonly parts: { credentials: ClusterCredentials; clock: Clock; ended?: (address: string, end: StreamEnd) => void }) {}

  /** The connection to a node, perhaps still being made. Errors: ConnectionLost while a failed one is not to be tried again yet. */
  to(address: string): NodeLink {
    const place = this.places.get(address);
    if (place?.link) return place.link;
    if (this.isClosed) throw new ConnectionLost(false, CLOSED);
    if (place === undefined) return this.connect(address, this.newPlace(address));
    place.forgetTimer.refresh();
    if (this.parts.clock.monotonicMs() < place.notBeforeMs) throw new ConnectionLost(false, place.lastEnd);
    return this.connect(address, place);
  }

  /** Bytes of requests that wait to be sent, to all nodes. */
  get queuedBytes(): number {
    let bytes = 0;
    for (const { link } of this.places.values()) bytes += link?.queuedBytes ?? 0;
    return bytes;
  }

  close(): void {
    this.isClosed = true;
    for (const [address, place] of [...this.places]) this.forget(address, place);
  }

  private newPlace(address: string): Place {
    const place: Place = {
      channel: this.newChannel(address),
      link: null,
      failures: 0,
      lastEnd: CLOSED,
      notBeforeMs: 0,
      forgetTimer: setTimeout(() => {
        if (place.link === null) this.forget(address, place);
        else place.forgetTimer.refresh();
      }, FORGET_MS),
    };
    place.forgetTimer.unref();
    this.places.set(address, place);
    return place;
  }

  private newChannel(address: string): RpcChannel {
    return new RpcChannel({ address, credentials: this.parts.credentials });
  }

  private connect(address: string, place: Place): NodeLink {
    const { clock } = this.parts;
    let wasReady = false;
    const link = new NodeLink({
      channel: place.channel,
      clock,
      ready: () => {
        wasReady = true;
        place.failures = 0;
      },
      ended: (end, isSilent) => {
        place.link = null;
        place.lastEnd = end;
        if (!wasReady) {
          place.failures += 1;
          place.notBeforeMs = clock.monotonicMs() + Math.min(FIRST_PAUSE_MS * 2 ** (place.failures - 1), LAST_PAUSE_MS);
        }
        if (this.isClosed) return;
        if (isSilent) {
          place.channel.close();
          place.channel = this.newChannel(address);
        }
        this.parts.ended?.(address, end);
      },
    });
    place.link = link;
    return link;
  }

  private forget(address: string, place: Place): void {
    this.places.delete(address);
    clearTimeout(place.forgetTimer);
    place.link?.close(CLOSED);
    place.channel.close();
  }
}
