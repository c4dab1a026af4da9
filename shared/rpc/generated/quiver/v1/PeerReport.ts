// Original file: proto/quiver/v1/administration.proto

import type { Long } from '@grpc/proto-loader';

export interface PeerReport {
  'node'?: (string);
  'matchSequence'?: (number | string | Long);
  'progress'?: (number | string);
}

export interface PeerReport__Output {
  'node': (string);
  'matchSequence': (number);
  'progress': (number);
}
