// Original file: proto/quiver/v1/replication.proto

import type { ReplicaName as _quiver_v1_ReplicaName, ReplicaName__Output as _quiver_v1_ReplicaName__Output } from '../../quiver/v1/ReplicaName';
import type { Long } from '@grpc/proto-loader';

export interface RecordedMatch {
  'replica'?: (_quiver_v1_ReplicaName | null);
  'epoch'?: (number | string | Long);
  'match'?: (number | string | Long);
}

export interface RecordedMatch__Output {
  'replica': (_quiver_v1_ReplicaName__Output | null);
  'epoch': (number);
  'match': (number);
}
