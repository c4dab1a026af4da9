// Original file: proto/quiver/v1/reads.proto

import type { ShardRef as _quiver_v1_ShardRef, ShardRef__Output as _quiver_v1_ShardRef__Output } from '../../quiver/v1/ShardRef';
import type { Search as _quiver_v1_Search, Search__Output as _quiver_v1_Search__Output } from '../../quiver/v1/Search';
import type { Score as _quiver_v1_Score, Score__Output as _quiver_v1_Score__Output } from '../../quiver/v1/Score';
import type { KeywordStatisticsCall as _quiver_v1_KeywordStatisticsCall, KeywordStatisticsCall__Output as _quiver_v1_KeywordStatisticsCall__Output } from '../../quiver/v1/KeywordStatisticsCall';
import type { KeywordSearch as _quiver_v1_KeywordSearch, KeywordSearch__Output as _quiver_v1_KeywordSearch__Output } from '../../quiver/v1/KeywordSearch';
import type { Fetch as _quiver_v1_Fetch, Fetch__Output as _quiver_v1_Fetch__Output } from '../../quiver/v1/Fetch';
import type { Scan as _quiver_v1_Scan, Scan__Output as _quiver_v1_Scan__Output } from '../../quiver/v1/Scan';
import type { Count as _quiver_v1_Count, Count__Output as _quiver_v1_Count__Output } from '../../quiver/v1/Count';
import type { Status as _quiver_v1_Status, Status__Output as _quiver_v1_Status__Output } from '../../quiver/v1/Status';
import type { Long } from '@grpc/proto-loader';

export interface ReadRequest {
  'id'?: (number);
  'shard'?: (_quiver_v1_ShardRef | null);
  'epoch'?: (number | string | Long);
  'remainingMs'?: (number);
  'search'?: (_quiver_v1_Search | null);
  'score'?: (_quiver_v1_Score | null);
  'keywordStatistics'?: (_quiver_v1_KeywordStatisticsCall | null);
  'keywordSearch'?: (_quiver_v1_KeywordSearch | null);
  'fetch'?: (_quiver_v1_Fetch | null);
  'scan'?: (_quiver_v1_Scan | null);
  'count'?: (_quiver_v1_Count | null);
  'status'?: (_quiver_v1_Status | null);
  'call'?: "search"|"score"|"keywordStatistics"|"keywordSearch"|"fetch"|"scan"|"count"|"status";
}

export interface ReadRequest__Output {
  'id': (number);
  'shard': (_quiver_v1_ShardRef__Output | null);
  'epoch': (number);
  'remainingMs': (number);
  'search'?: (_quiver_v1_Search__Output | null);
  'score'?: (_quiver_v1_Score__Output | null);
  'keywordStatistics'?: (_quiver_v1_KeywordStatisticsCall__Output | null);
  'keywordSearch'?: (_quiver_v1_KeywordSearch__Output | null);
  'fetch'?: (_quiver_v1_Fetch__Output | null);
  'scan'?: (_quiver_v1_Scan__Output | null);
  'count'?: (_quiver_v1_Count__Output | null);
  'status'?: (_quiver_v1_Status__Output | null);
  'call'?: "search"|"score"|"keywordStatistics"|"keywordSearch"|"fetch"|"scan"|"count"|"status";
}
