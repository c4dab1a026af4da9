// Original file: proto/quiver/v1/administration.proto

import type { ReplicaReport as _quiver_v1_ReplicaReport, ReplicaReport__Output as _quiver_v1_ReplicaReport__Output } from '../../quiver/v1/ReplicaReport';

export interface NodeReport {
  'shards'?: (_quiver_v1_ReplicaReport)[];
}

export interface NodeReport__Output {
  'shards': (_quiver_v1_ReplicaReport__Output)[];
}
