// Original file: proto/quiver/v1/reads.proto

import type { SegmentStatus as _quiver_v1_SegmentStatus, SegmentStatus__Output as _quiver_v1_SegmentStatus__Output } from '../../quiver/v1/SegmentStatus';
import type { Long } from '@grpc/proto-loader';

export interface ShardStatus {
  'vectorCount'?: (number | string | Long);
  'lastOperation'?: (number | string | Long);
  'lastStamp'?: (number | string);
  'diskBytes'?: (number | string | Long);
  'memoryBytes'?: (number | string | Long);
  'segments'?: (_quiver_v1_SegmentStatus)[];
}

export interface ShardStatus__Output {
  'vectorCount': (number);
  'lastOperation': (number);
  'lastStamp': (number);
  'diskBytes': (number);
  'memoryBytes': (number);
  'segments': (_quiver_v1_SegmentStatus__Output)[];
}
