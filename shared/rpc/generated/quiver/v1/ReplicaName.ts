// Original file: proto/quiver/v1/replication.proto


export interface ReplicaName {
  'node'?: (string);
  'store'?: (string);
}

export interface ReplicaName__Output {
  'node': (string);
  'store': (string);
}
