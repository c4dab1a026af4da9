// Original file: proto/quiver/v1/reads.proto

import type { Long } from '@grpc/proto-loader';

export interface KeywordStatistics {
  'documentCount'?: (number | string | Long);
  'totalLength'?: (number | string | Long);
  'documentFrequencies'?: (number | string | Long)[];
}

export interface KeywordStatistics__Output {
  'documentCount': (number);
  'totalLength': (number);
  'documentFrequencies': (number)[];
}
