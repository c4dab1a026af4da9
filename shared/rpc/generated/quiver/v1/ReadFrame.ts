// Original file: proto/quiver/v1/reads.proto

import type { ReadRequest as _quiver_v1_ReadRequest, ReadRequest__Output as _quiver_v1_ReadRequest__Output } from '../../quiver/v1/ReadRequest';

export interface ReadFrame {
  'requests'?: (_quiver_v1_ReadRequest)[];
  'cancelledIds'?: (number)[];
}

export interface ReadFrame__Output {
  'requests': (_quiver_v1_ReadRequest__Output)[];
  'cancelledIds': (number)[];
}
