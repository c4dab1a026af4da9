import type { Logger } from '../../../shared/base/logs/logger';
import type { MemberVersion } from '../../../shared/base/process/member-version';
import { FramesChannel } from '../../../shared/wire/frames/frames-channel';
import { NODES_GREETING } from '../../../shared/wire/frames/reads-greeting';
import type { ClusterCredentials } from '../../../shared/wire/streams/rpc-channel';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { type BackoffPauses, RetryBackoff } from '../../../shared/base/time/retry-backoff';
import type { AckStream } from './ack-stream';
import { AppendStream } from './append-stream';
import type { AppendAck, AppendMessage } from '../core/messages';
import type { SeldomPace } from '../core/pace';
import type { ReplicationLinks, ReplicationReceiver } from './replication-links';

/** The pauses between attempts to reach a node. */
const PAUSES: BackoffPauses = { firstMs: 50, longestMs: 1_000 };
/** A stream that is not ready by then is closed: the other side accepted the connection and stays silent. */
const READY_WITHIN_MS = 3_000;

interface Outbound {
  address: string;
  stream: AppendStream | null;
  isReady: boolean;
  /** Of the program at the other end of the stream that is ready. */
  version: MemberVersion | null;
  openedAtMs: number;
  retryAtMs: number;
  backoff: RetryBackoff;
}

/**
 * Messages between replicas: one stream to each node to which this one sends appends. It is opened when there is
 * something to send (a primary always has heartbeats), and opened again when it breaks. It goes over frames on a
 * connection of its own (decision 54).
 */
export class StreamReplicationLinks implements ReplicationLinks {
  readonly nodeId: string;
  private readonly addressOf: (node: string) => string | null;
  private readonly credentials: ClusterCredentials;
  private readonly clock: Clock;
  private readonly log: Logger;
  private readonly outbound = new Map<string, Outbound>();
  private readonly inbound = new Map<string, AckStream>();
  private receiver: ReplicationReceiver | null = null;
  private closed = false;

  /** `addressOf`: host:port of a node's services; null if it is unknown. */
  constructor(options: {
    nodeId: string;
    addressOf: (node: string) => string | null;
    credentials: ClusterCredentials;
    clock: Clock;
    log: Logger;
  }) {
    this.nodeId = options.nodeId;
    this.addressOf = options.addressOf;
    this.credentials = options.credentials;
    this.clock = options.clock;
    this.log = options.log;
  }

  /** Sets the receiver of incoming messages. */
  deliverTo(receiver: ReplicationReceiver): void {
    this.receiver = receiver;
  }

  sendAppend(to: string, shard: ShardId, message: AppendMessage, pace?: SeldomPace): void {
    this.streamTo(to)?.send(shard, message, pace);
  }

  sendAck(to: string, shard: ShardId, ack: AppendAck): void {
    this.inbound.get(to)?.send(shard, ack);
  }

  /** A node has opened a stream of appends to this one. An earlier stream from it, if there is one, ends. */
  accept(stream: AckStream): void {
    const before = this.inbound.get(stream.node);
    this.inbound.set(stream.node, stream);
    if (before !== undefined && before !== stream) before.close();
  }

  left(stream: AckStream): void {
    if (this.inbound.get(stream.node) === stream) this.inbound.delete(stream.node);
  }

  arrived(shard: ShardId, message: AppendMessage, nowMs?: number): void {
    this.receiver?.onAppend(shard, message, nowMs);
  }

  nowMs(): number {
    return this.clock.monotonicMs();
  }

  /** The version of the program to which appends go at present; null while there is no stream to it. */
  versionOf(node: string): MemberVersion | null {
    const outbound = this.outbound.get(node);
    return outbound?.stream !== null && outbound?.isReady === true ? outbound.version : null;
  }

  close(): void {
    this.closed = true;
    for (const { stream } of this.outbound.values()) stream?.close();
    for (const stream of [...this.inbound.values()]) stream.close();
    this.outbound.clear();
    this.inbound.clear();
  }

  private streamTo(node: string): AppendStream | null {
    if (this.closed) return null;
    const address = this.addressOf(node);
    if (address === null) return null;
    let outbound = this.outbound.get(node);
    if (outbound?.isReady === true && outbound.stream !== null && outbound.address === address) return outbound.stream;
    const nowMs = this.clock.monotonicMs();
    if (outbound !== undefined && outbound.address !== address) {
      outbound.stream?.close();
      outbound = undefined;
    }
    if (outbound === undefined) {
      outbound = {
        address,
        stream: null,
        isReady: false,
        version: null,
        openedAtMs: 0,
        retryAtMs: 0,
        backoff: new RetryBackoff(PAUSES),
      };
      this.outbound.set(node, outbound);
    }
    if (outbound.stream !== null && !outbound.isReady && nowMs - outbound.openedAtMs > READY_WITHIN_MS)
      this.lost(node, outbound, outbound.stream, 'it does not answer');
    if (outbound.stream === null && nowMs >= outbound.retryAtMs) this.open(node, outbound, nowMs);
    return outbound.stream;
  }

  private open(node: string, outbound: Outbound, nowMs: number): void {
    outbound.isReady = false;
    outbound.openedAtMs = nowMs;
    const { address } = outbound;
    const stream: AppendStream = new AppendStream({
      channel: new FramesChannel({ address, credentials: this.credentials, greeting: NODES_GREETING }),
      nodeId: this.nodeId,
      to: node,
      nowMs: () => this.clock.monotonicMs(),
      listener: {
        ready: (version) => {
          if (outbound.stream !== stream) return;
          outbound.isReady = true;
          outbound.version = version;
          outbound.backoff.reset();
          this.receiver?.onStreamStarted(node);
        },
        ack: (shard, ack, nowMs) => {
          if (outbound.stream === stream) this.receiver?.onAck(shard, ack, nowMs);
        },
        ended: ({ reason }) => this.lost(node, outbound, stream, reason),
      },
    });
    outbound.stream = stream;
  }

  private lost(node: string, outbound: Outbound, stream: AppendStream, reason: string): void {
    if (outbound.stream !== stream) return;
    outbound.stream = null;
    stream.close();
    if (outbound.isReady) this.log.warn({ node, reason }, 'the replication stream to a node broke; it is set up anew');
    outbound.retryAtMs = this.clock.monotonicMs() + outbound.backoff.nextMs();
  }
}
