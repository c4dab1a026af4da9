// Original file: proto/quiver/v1/replication.proto

import type { ShardAck as _quiver_v1_ShardAck, ShardAck__Output as _quiver_v1_ShardAck__Output } from '../../quiver/v1/ShardAck';

export interface AckFrame {
  'acks'?: (_quiver_v1_ShardAck)[];
}

export interface AckFrame__Output {
  'acks': (_quiver_v1_ShardAck__Output)[];
}
