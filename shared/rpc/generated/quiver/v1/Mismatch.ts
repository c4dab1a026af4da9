// Original file: proto/quiver/v1/replication.proto

import type { LogPosition as _quiver_v1_LogPosition, LogPosition__Output as _quiver_v1_LogPosition__Output } from '../../quiver/v1/LogPosition';
import type { Long } from '@grpc/proto-loader';

export interface Mismatch {
  'prev'?: (number | string | Long);
  'hint'?: (_quiver_v1_LogPosition | null);
}

export interface Mismatch__Output {
  'prev': (number);
  'hint': (_quiver_v1_LogPosition__Output | null);
}
