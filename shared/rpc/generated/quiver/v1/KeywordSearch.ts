// Original file: proto/quiver/v1/reads.proto

import type { KeywordStatistics as _quiver_v1_KeywordStatistics, KeywordStatistics__Output as _quiver_v1_KeywordStatistics__Output } from '../../quiver/v1/KeywordStatistics';

export interface KeywordSearch {
  'terms'?: (Buffer | Uint8Array | string);
  'statistics'?: (_quiver_v1_KeywordStatistics | null);
  'k'?: (number);
  'filter'?: (string);
}

export interface KeywordSearch__Output {
  'terms': (Buffer);
  'statistics': (_quiver_v1_KeywordStatistics__Output | null);
  'k': (number);
  'filter': (string);
}
