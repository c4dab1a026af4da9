// Original file: proto/quiver/v1/administration.proto

import type { PeerReport as _quiver_v1_PeerReport, PeerReport__Output as _quiver_v1_PeerReport__Output } from '../../quiver/v1/PeerReport';
import type { Long } from '@grpc/proto-loader';

export interface ReplicaReport {
  'collectionUid'?: (string);
  'shard'?: (number);
  'leads'?: (boolean);
  'epoch'?: (number | string | Long);
  'lastSequence'?: (number | string | Long);
  'appliedSequence'?: (number | string | Long);
  'vectors'?: (number | string | Long);
  'diskBytes'?: (number | string | Long);
  'peers'?: (_quiver_v1_PeerReport)[];
}

export interface ReplicaReport__Output {
  'collectionUid': (string);
  'shard': (number);
  'leads': (boolean);
  'epoch': (number);
  'lastSequence': (number);
  'appliedSequence': (number);
  'vectors': (number);
  'diskBytes': (number);
  'peers': (_quiver_v1_PeerReport__Output)[];
}
