// Original file: proto/quiver/v1/peers.proto

import type { Long } from '@grpc/proto-loader';

export interface RateDecision {
  'id'?: (number);
  'allowed'?: (boolean);
  'limit'?: (number | string | Long);
  'remaining'?: (number | string | Long);
  'resetSeconds'?: (number);
}

export interface RateDecision__Output {
  'id': (number);
  'allowed': (boolean);
  'limit': (number);
  'remaining': (number);
  'resetSeconds': (number);
}
