// Original file: proto/quiver/v1/writes.proto

import type { Failure as _quiver_v1_Failure, Failure__Output as _quiver_v1_Failure__Output } from '../../quiver/v1/Failure';

export interface WriteAnswer {
  'id'?: (number);
  'outcomes'?: (Buffer | Uint8Array | string);
  'failure'?: (_quiver_v1_Failure | null);
  'result'?: "outcomes"|"failure";
}

export interface WriteAnswer__Output {
  'id': (number);
  'outcomes'?: (Buffer);
  'failure'?: (_quiver_v1_Failure__Output | null);
  'result'?: "outcomes"|"failure";
}
