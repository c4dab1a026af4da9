// Original file: proto/quiver/v1/shard.proto


export interface ShardRef {
  'collectionUid'?: (string);
  'shard'?: (number);
}

export interface ShardRef__Output {
  'collectionUid': (string);
  'shard': (number);
}
