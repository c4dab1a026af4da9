// Original file: proto/quiver/v1/reads.proto

import type { Long } from '@grpc/proto-loader';

export interface SegmentStatus {
  'sealed'?: (boolean);
  'rows'?: (number | string | Long);
  'deletedRows'?: (number | string | Long);
  'ef'?: (number);
}

export interface SegmentStatus__Output {
  'sealed': (boolean);
  'rows': (number);
  'deletedRows': (number);
  'ef': (number);
}
