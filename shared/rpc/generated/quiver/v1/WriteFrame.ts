// Original file: proto/quiver/v1/writes.proto

import type { WriteRequest as _quiver_v1_WriteRequest, WriteRequest__Output as _quiver_v1_WriteRequest__Output } from '../../quiver/v1/WriteRequest';
import type { WritePart as _quiver_v1_WritePart, WritePart__Output as _quiver_v1_WritePart__Output } from '../../quiver/v1/WritePart';

export interface WriteFrame {
  'requests'?: (_quiver_v1_WriteRequest)[];
  'parts'?: (_quiver_v1_WritePart)[];
  'cancelledIds'?: (number)[];
}

export interface WriteFrame__Output {
  'requests': (_quiver_v1_WriteRequest__Output)[];
  'parts': (_quiver_v1_WritePart__Output)[];
  'cancelledIds': (number)[];
}
