// Original file: proto/quiver/v1/administration.proto

import type { ShardRef as _quiver_v1_ShardRef, ShardRef__Output as _quiver_v1_ShardRef__Output } from '../../quiver/v1/ShardRef';

export interface ReportRequest {
  'id'?: (number);
  'probe'?: (boolean);
  'digestOf'?: (_quiver_v1_ShardRef | null);
}

export interface ReportRequest__Output {
  'id': (number);
  'probe': (boolean);
  'digestOf': (_quiver_v1_ShardRef__Output | null);
}
