// Original file: proto/quiver/v1/administration.proto

import type { NodeReport as _quiver_v1_NodeReport, NodeReport__Output as _quiver_v1_NodeReport__Output } from '../../quiver/v1/NodeReport';

export interface ReportAnswer {
  'id'?: (number);
  'report'?: (_quiver_v1_NodeReport | null);
}

export interface ReportAnswer__Output {
  'id': (number);
  'report': (_quiver_v1_NodeReport__Output | null);
}
