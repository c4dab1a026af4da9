// Original file: proto/quiver/v1/shard.proto


export interface Failure {
  'kind'?: (string);
  'message'?: (string);
  'code'?: (number);
}

export interface Failure__Output {
  'kind': (string);
  'message': (string);
  'code': (number);
}
