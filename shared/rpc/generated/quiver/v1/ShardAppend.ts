// Original file: proto/quiver/v1/replication.proto

import type { LogPosition as _quiver_v1_LogPosition, LogPosition__Output as _quiver_v1_LogPosition__Output } from '../../quiver/v1/LogPosition';
import type { RecordedMatch as _quiver_v1_RecordedMatch, RecordedMatch__Output as _quiver_v1_RecordedMatch__Output } from '../../quiver/v1/RecordedMatch';
import type { Entry as _quiver_v1_Entry, Entry__Output as _quiver_v1_Entry__Output } from '../../quiver/v1/Entry';
import type { Long } from '@grpc/proto-loader';

export interface ShardAppend {
  'collectionUid'?: (string);
  'shard'?: (number);
  'epoch'?: (number | string | Long);
  'prev'?: (_quiver_v1_LogPosition | null);
  'commit'?: (number | string | Long);
  'sentAt'?: (number | string);
  'releasesLease'?: (boolean);
  'recorded'?: (_quiver_v1_RecordedMatch)[];
  'entries'?: (_quiver_v1_Entry)[];
}

export interface ShardAppend__Output {
  'collectionUid': (string);
  'shard': (number);
  'epoch': (number);
  'prev': (_quiver_v1_LogPosition__Output | null);
  'commit': (number);
  'sentAt': (number);
  'releasesLease': (boolean);
  'recorded': (_quiver_v1_RecordedMatch__Output)[];
  'entries': (_quiver_v1_Entry__Output)[];
}
