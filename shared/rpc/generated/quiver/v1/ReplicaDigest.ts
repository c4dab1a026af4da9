// Original file: proto/quiver/v1/administration.proto

import type { Long } from '@grpc/proto-loader';

export interface ReplicaDigest {
  'appliedSequence'?: (number | string | Long);
  'items'?: (number | string | Long);
  'content'?: (string);
  'order'?: (string);
  'sessions'?: (string);
}

export interface ReplicaDigest__Output {
  'appliedSequence': (number);
  'items': (number);
  'content': (string);
  'order': (string);
  'sessions': (string);
}
