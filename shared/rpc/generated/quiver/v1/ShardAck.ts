// Original file: proto/quiver/v1/replication.proto

import type { ReplicaName as _quiver_v1_ReplicaName, ReplicaName__Output as _quiver_v1_ReplicaName__Output } from '../../quiver/v1/ReplicaName';
import type { Match as _quiver_v1_Match, Match__Output as _quiver_v1_Match__Output } from '../../quiver/v1/Match';
import type { Mismatch as _quiver_v1_Mismatch, Mismatch__Output as _quiver_v1_Mismatch__Output } from '../../quiver/v1/Mismatch';
import type { Fenced as _quiver_v1_Fenced, Fenced__Output as _quiver_v1_Fenced__Output } from '../../quiver/v1/Fenced';
import type { Long } from '@grpc/proto-loader';

export interface ShardAck {
  'collectionUid'?: (string);
  'shard'?: (number);
  'epoch'?: (number | string | Long);
  'replica'?: (_quiver_v1_ReplicaName | null);
  'sentAt'?: (number | string);
  'match'?: (_quiver_v1_Match | null);
  'mismatch'?: (_quiver_v1_Mismatch | null);
  'fenced'?: (_quiver_v1_Fenced | null);
  'result'?: "match"|"mismatch"|"fenced";
}

export interface ShardAck__Output {
  'collectionUid': (string);
  'shard': (number);
  'epoch': (number);
  'replica': (_quiver_v1_ReplicaName__Output | null);
  'sentAt': (number);
  'match'?: (_quiver_v1_Match__Output | null);
  'mismatch'?: (_quiver_v1_Mismatch__Output | null);
  'fenced'?: (_quiver_v1_Fenced__Output | null);
  'result'?: "match"|"mismatch"|"fenced";
}
