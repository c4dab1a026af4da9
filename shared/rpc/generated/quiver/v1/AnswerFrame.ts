// Original file: proto/quiver/v1/reads.proto

import type { Answer as _quiver_v1_Answer, Answer__Output as _quiver_v1_Answer__Output } from '../../quiver/v1/Answer';

export interface AnswerFrame {
  'answers'?: (_quiver_v1_Answer)[];
}

export interface AnswerFrame__Output {
  'answers': (_quiver_v1_Answer__Output)[];
}
