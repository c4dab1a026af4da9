import { FramesChannel } from '../../../shared/wire/frames/frames-channel';
import { type ClusterCredentials, RpcChannel, type StreamEnd } from '../../../shared/wire/streams/rpc-channel';
import type { Clock } from '../../../shared/base/time/clock';
import { type BackoffPauses, RetryBackoff } from '../../../shared/base/time/retry-backoff';
import { NodeLink } from './node-link';
import { ConnectionLost } from './request-stream';

/** The pause after a failed connection. */
const PAUSES: BackoffPauses = { firstMs: 20, longestMs: 500 };

/**
 * An address is dropped when it is neither asked for nor connected for this long: nodes may come back under other
 * addresses.
 */
const FORGET_MS = 60_000;

const CLOSED: StreamEnd = { isRefused: false, reason: 'closed' };

/**
 * The way to one address. Its channel outlives its links. After a channel that could not connect is closed, grpc-js
 * tries to connect once more, and nobody owns that connection. So such a channel is not closed but used again.
 */
interface Destination {
  channel: RpcChannel;
  link: NodeLink | null;
  /** Pauses between connections that never become ready, and why the last one did not. */
  backoff: RetryBackoff;
  lastEnd: StreamEnd;
  /** Monotonic. */
  notBeforeMs: number;
  forgetTimer: NodeJS.Timeout;
}

/** The connections to the nodes, one per address, made when first needed and again when one has ended. */
export class NodeLinks {
  private readonly destinations = new Map<string, Destination>();
  private isClosed = false;

  constructor(
    private readonly parts: {
      credentials: ClusterCredentials;
      clock: Clock;
      ended?: (address: string, end: StreamEnd) => void;
    },
  ) {}

  /**
   * The connection to a node, which may still be connecting. Errors: ConnectionLost while a failed connection must not
   * be tried again yet.
   */
  to(address: string): NodeLink {
    const destination = this.destinations.get(address);
    if (destination?.link) return destination.link;
    if (this.isClosed) throw new ConnectionLost(false, CLOSED);
    if (destination === undefined) return this.connect(address, this.newDestination(address));
    destination.forgetTimer.refresh();
    if (this.parts.clock.monotonicMs() < destination.notBeforeMs) throw new ConnectionLost(false, destination.lastEnd);
    return this.connect(address, destination);
  }

  /** Reads that wait for the answer of a node. */
  readsUnderWay(address: string): number {
    return this.destinations.get(address)?.link?.readsUnderWay ?? 0;
  }

  /** Bytes of requests that wait to be sent, to all nodes. */
  get queuedBytes(): number {
    let bytes = 0;
    for (const { link } of this.destinations.values()) bytes += link?.queuedBytes ?? 0;
    return bytes;
  }

  close(): void {
    this.isClosed = true;
    for (const [address, destination] of [...this.destinations]) this.forget(address, destination);
  }

  private newDestination(address: string): Destination {
    const destination: Destination = {
      channel: this.newChannel(address),
      link: null,
      backoff: new RetryBackoff(PAUSES),
      lastEnd: CLOSED,
      notBeforeMs: 0,
      forgetTimer: setTimeout(() => {
        if (destination.link === null) this.forget(address, destination);
        else destination.forgetTimer.refresh();
      }, FORGET_MS),
    };
    destination.forgetTimer.unref();
    this.destinations.set(address, destination);
    return destination;
  }

  private newChannel(address: string): RpcChannel {
    return new RpcChannel({ address, credentials: this.parts.credentials });
  }

  private connect(address: string, destination: Destination): NodeLink {
    const { clock } = this.parts;
    let wasReady = false;
    const link = new NodeLink({
      channel: destination.channel,
      newChannel: () => this.newChannel(address),
      newReadsChannel: () => new FramesChannel({ address, credentials: this.parts.credentials }),
      clock,
      ready: () => {
        wasReady = true;
        destination.backoff.reset();
      },
      ended: (end, isSilent) => {
        destination.link = null;
        destination.lastEnd = end;
        if (!wasReady) destination.notBeforeMs = clock.monotonicMs() + destination.backoff.nextMs();
        if (this.isClosed) return;
        if (isSilent) {
          destination.channel.close();
          destination.channel = this.newChannel(address);
        }
        this.parts.ended?.(address, end);
      },
    });
    destination.link = link;
    return link;
  }

  private forget(address: string, destination: Destination): void {
    this.destinations.delete(address);
    clearTimeout(destination.forgetTimer);
    destination.link?.close(CLOSED);
    destination.channel.close();
  }
}
