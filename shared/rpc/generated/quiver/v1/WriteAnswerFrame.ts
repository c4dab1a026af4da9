// Original file: proto/quiver/v1/writes.proto

import type { WriteAnswer as _quiver_v1_WriteAnswer, WriteAnswer__Output as _quiver_v1_WriteAnswer__Output } from '../../quiver/v1/WriteAnswer';

export interface WriteAnswerFrame {
  'answers'?: (_quiver_v1_WriteAnswer)[];
}

export interface WriteAnswerFrame__Output {
  'answers': (_quiver_v1_WriteAnswer__Output)[];
}
