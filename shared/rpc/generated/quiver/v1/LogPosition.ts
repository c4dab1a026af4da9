// Original file: proto/quiver/v1/replication.proto

import type { Long } from '@grpc/proto-loader';

export interface LogPosition {
  'epoch'?: (number | string | Long);
  'sequence'?: (number | string | Long);
}

export interface LogPosition__Output {
  'epoch': (number);
  'sequence': (number);
}
