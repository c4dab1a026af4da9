import {
  Metadata,
  type ServerDuplexStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { RpcService } from '../../../shared/wire/streams/rpc-server';
import { AckStream } from './ack-stream';
import type { StreamReplicationLinks } from './stream-replication-links';
import type { FramesMethod } from '../../../shared/wire/frames/frames-acceptor';
import type { ServedCall } from '../../../shared/wire/streams/served-call';
import { exchangeFrames } from './exchange-frames';
import { type AckFrame, type AppendFrame, replicationDefinition } from './replication-definition';
import type { SnapshotReceiver } from './snapshot-receiver';

/**
 * The service through which other nodes reach this one's replicas: appends over connections that carry frames, copies
 * over gRPC.
 */
export class ReplicationService implements RpcService {
  readonly definition: ServiceDefinition = replicationDefinition;
  readonly handlers: UntypedServiceImplementation;
  readonly frames: FramesMethod<AppendFrame, AckFrame>;
  private readonly streams = new Set<AckStream>();

  constructor(options: { links: StreamReplicationLinks; snapshots: SnapshotReceiver }) {
    const { links, snapshots } = options;
    const serve = (call: ServedCall<AppendFrame, AckFrame>): void => {
      // The sender waits for these headers before it regards the stream as ready.
      call.sendMetadata(new Metadata());
      const stream: AckStream = new AckStream({
        self: links.nodeId,
        call,
        named: () => links.accept(stream),
        append: (shard, message, nowMs) => links.arrived(shard, message, nowMs),
        nowMs: () => links.nowMs(),
        ended: () => {
          this.streams.delete(stream);
          links.left(stream);
        },
      });
      this.streams.add(stream);
    };
    this.frames = { ...exchangeFrames, serve };
    this.handlers = {
      Install: (call: ServerDuplexStream<any, any>) => {
        call.sendMetadata(new Metadata());
        snapshots.receive(call);
      },
    };
  }

  async drain(): Promise<void> {
    for (const stream of [...this.streams]) stream.close();
  }
}
