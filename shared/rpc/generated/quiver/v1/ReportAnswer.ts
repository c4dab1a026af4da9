// Original file: proto/quiver/v1/administration.proto

import type { NodeReport as _quiver_v1_NodeReport, NodeReport__Output as _quiver_v1_NodeReport__Output } from '../../quiver/v1/NodeReport';
import type { ReplicaDigest as _quiver_v1_ReplicaDigest, ReplicaDigest__Output as _quiver_v1_ReplicaDigest__Output } from '../../quiver/v1/ReplicaDigest';

export interface ReportAnswer {
  'id'?: (number);
  'report'?: (_quiver_v1_NodeReport | null);
  'digest'?: (_quiver_v1_ReplicaDigest | null);
}

export interface ReportAnswer__Output {
  'id': (number);
  'report': (_quiver_v1_NodeReport__Output | null);
  'digest': (_quiver_v1_ReplicaDigest__Output | null);
}
