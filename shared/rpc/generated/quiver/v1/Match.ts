// Original file: proto/quiver/v1/replication.proto

import type { Long } from '@grpc/proto-loader';

export interface Match {
  'match'?: (number | string | Long);
  'agreed'?: (number | string | Long);
}

export interface Match__Output {
  'match': (number);
  'agreed': (number);
}
