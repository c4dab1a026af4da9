// Original file: proto/quiver/v1/replication.proto

import type { LoggedWrite as _quiver_v1_LoggedWrite, LoggedWrite__Output as _quiver_v1_LoggedWrite__Output } from '../../quiver/v1/LoggedWrite';
import type { Long } from '@grpc/proto-loader';

export interface Entry {
  'epoch'?: (number | string | Long);
  'sequence'?: (number | string | Long);
  'write'?: (_quiver_v1_LoggedWrite | null);
}

export interface Entry__Output {
  'epoch': (number);
  'sequence': (number);
  'write': (_quiver_v1_LoggedWrite__Output | null);
}
