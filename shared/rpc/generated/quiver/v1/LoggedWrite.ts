// Original file: proto/quiver/v1/replication.proto

import type { Long } from '@grpc/proto-loader';

export interface LoggedWrite {
  'session'?: (string);
  'requestNumber'?: (number | string | Long);
  'settledBelow'?: (number | string | Long);
  'payload'?: (Buffer | Uint8Array | string);
  'payloadId'?: (number);
}

export interface LoggedWrite__Output {
  'session': (string);
  'requestNumber': (number);
  'settledBelow': (number);
  'payload': (Buffer);
  'payloadId': (number);
}
