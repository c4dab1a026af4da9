// Original file: proto/quiver/v1/replication.proto

import type { Long } from '@grpc/proto-loader';

export interface SnapshotHeader {
  'collectionUid'?: (string);
  'shard'?: (number);
  'epoch'?: (number | string | Long);
}

export interface SnapshotHeader__Output {
  'collectionUid': (string);
  'shard': (number);
  'epoch': (number);
}
