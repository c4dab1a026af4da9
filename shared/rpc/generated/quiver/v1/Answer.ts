// Original file: proto/quiver/v1/reads.proto

import type { KeywordStatistics as _quiver_v1_KeywordStatistics, KeywordStatistics__Output as _quiver_v1_KeywordStatistics__Output } from '../../quiver/v1/KeywordStatistics';
import type { ShardStatus as _quiver_v1_ShardStatus, ShardStatus__Output as _quiver_v1_ShardStatus__Output } from '../../quiver/v1/ShardStatus';
import type { Failure as _quiver_v1_Failure, Failure__Output as _quiver_v1_Failure__Output } from '../../quiver/v1/Failure';
import type { Long } from '@grpc/proto-loader';

export interface Answer {
  'id'?: (number);
  'more'?: (boolean);
  'vectorCount'?: (number | string | Long);
  'hits'?: (Buffer | Uint8Array | string);
  'items'?: (Buffer | Uint8Array | string);
  'keywordStatistics'?: (_quiver_v1_KeywordStatistics | null);
  'count'?: (number | string | Long);
  'status'?: (_quiver_v1_ShardStatus | null);
  'failure'?: (_quiver_v1_Failure | null);
  'result'?: "hits"|"items"|"keywordStatistics"|"count"|"status"|"failure";
}

export interface Answer__Output {
  'id': (number);
  'more': (boolean);
  'vectorCount': (number);
  'hits'?: (Buffer);
  'items'?: (Buffer);
  'keywordStatistics'?: (_quiver_v1_KeywordStatistics__Output | null);
  'count'?: (number);
  'status'?: (_quiver_v1_ShardStatus__Output | null);
  'failure'?: (_quiver_v1_Failure__Output | null);
  'result'?: "hits"|"items"|"keywordStatistics"|"count"|"status"|"failure";
}
