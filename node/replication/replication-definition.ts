import type { ReplicationDefinition } from '../../shared/rpc/generated/quiver/v1/replication';
import { loadService } from '../../shared/rpc/protocol';
import type { StreamMethod } from '../../shared/rpc/rpc-stream';
import type { WireBeat, WireBeatAck } from './beat-frames';
import type { WireAck, WireAppend } from './replication-frames';

export const replicationDefinition = loadService<ReplicationDefinition>('quiver/v1/replication.proto', 'quiver.v1.Replication');

/** What goes from the sender of appends in one message, with bytes as Node has them. */
export interface AppendFrame {
  /** Its name, in the first one. */
  node: string;
  pieces: { payloadId: number; bytes: Buffer }[];
  appends: WireAppend[];
  beats: WireBeat[];
}

/** What comes back. */
export interface AckFrame {
  acks: WireAck[];
  beats: WireBeatAck[];
}

/** The stream of appends over gRPC. */
export const exchangeMethod = replicationDefinition.Exchange as unknown as StreamMethod<AppendFrame, AckFrame>;

/** How both directions of it become bytes. */
export const exchangeCodec = replicationDefinition.Exchange as unknown as {
  requestSerialize: (frame: AppendFrame) => Buffer;
  requestDeserialize: (bytes: Buffer) => AppendFrame;
  responseSerialize: (frame: AckFrame) => Buffer;
  responseDeserialize: (bytes: Buffer) => AckFrame;
};
