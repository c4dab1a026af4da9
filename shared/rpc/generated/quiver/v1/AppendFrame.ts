// Original file: proto/quiver/v1/replication.proto

import type { PayloadPiece as _quiver_v1_PayloadPiece, PayloadPiece__Output as _quiver_v1_PayloadPiece__Output } from '../../quiver/v1/PayloadPiece';
import type { ShardAppend as _quiver_v1_ShardAppend, ShardAppend__Output as _quiver_v1_ShardAppend__Output } from '../../quiver/v1/ShardAppend';

export interface AppendFrame {
  'node'?: (string);
  'pieces'?: (_quiver_v1_PayloadPiece)[];
  'appends'?: (_quiver_v1_ShardAppend)[];
}

export interface AppendFrame__Output {
  'node': (string);
  'pieces': (_quiver_v1_PayloadPiece__Output)[];
  'appends': (_quiver_v1_ShardAppend__Output)[];
}
