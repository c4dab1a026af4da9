import type { ReplicationDefinition } from '../../../shared/wire/generated/quiver/v1/replication';
import { loadService } from '../../../shared/wire/streams/protocol';
import type { WireBeat, WireBeatAck } from './beat-frames';
import type { WireAck, WireAppend } from './replication-frames';

export const replicationDefinition = loadService<ReplicationDefinition>(
  'quiver/v1/replication.proto',
  'quiver.v1.Replication',
);

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

/**
 * How both directions of the stream of appends become bytes, but for what has a form of its own (exchange-frames.ts).
 */
export const exchangeCodec = replicationDefinition.Exchange as unknown as {
  requestSerialize: (frame: AppendFrame) => Buffer;
  requestDeserialize: (bytes: Buffer) => AppendFrame;
  responseSerialize: (frame: AckFrame) => Buffer;
  responseDeserialize: (bytes: Buffer) => AckFrame;
};
