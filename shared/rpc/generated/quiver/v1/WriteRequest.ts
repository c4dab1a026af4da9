// Original file: proto/quiver/v1/writes.proto

import type { ShardRef as _quiver_v1_ShardRef, ShardRef__Output as _quiver_v1_ShardRef__Output } from '../../quiver/v1/ShardRef';
import type { Long } from '@grpc/proto-loader';

export interface WriteRequest {
  'id'?: (number);
  'shard'?: (_quiver_v1_ShardRef | null);
  'epoch'?: (number | string | Long);
  'remainingMs'?: (number);
  'session'?: (string);
  'requestNumber'?: (number | string | Long);
  'settledBelow'?: (number | string | Long);
  'payloadBytes'?: (number);
  'payload'?: (Buffer | Uint8Array | string);
}

export interface WriteRequest__Output {
  'id': (number);
  'shard': (_quiver_v1_ShardRef__Output | null);
  'epoch': (number);
  'remainingMs': (number);
  'session': (string);
  'requestNumber': (number);
  'settledBelow': (number);
  'payloadBytes': (number);
  'payload': (Buffer);
}
