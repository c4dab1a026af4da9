// Original file: proto/quiver/v1/replication.proto

import type { Long } from '@grpc/proto-loader';

export interface Fenced {
  'promisedEpoch'?: (number | string | Long);
}

export interface Fenced__Output {
  'promisedEpoch': (number);
}
