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

export interface Noted {
  'traceparent'?: (string);
  'tracestate'?: (string);
}

export interface Noted__Output {
  'traceparent': (string);
  'tracestate': (string);
}

export interface ShardRef {
  'collectionUid'?: (string);
  'shard'?: (number);
}

export interface ShardRef__Output {
  'collectionUid': (string);
  'shard': (number);
}
