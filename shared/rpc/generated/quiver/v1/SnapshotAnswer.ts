// Original file: proto/quiver/v1/replication.proto

import type { Long } from '@grpc/proto-loader';

export interface SnapshotAnswer {
  'installedSequence'?: (number | string | Long);
  'refusal'?: (string);
  'answer'?: "installedSequence"|"refusal";
}

export interface SnapshotAnswer__Output {
  'installedSequence'?: (number);
  'refusal'?: (string);
  'answer'?: "installedSequence"|"refusal";
}
