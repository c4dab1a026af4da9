// Original file: proto/quiver/v1/replication.proto


export interface ChunkPiece {
  'bytes'?: (Buffer | Uint8Array | string);
  'isLast'?: (boolean);
}

export interface ChunkPiece__Output {
  'bytes': (Buffer);
  'isLast': (boolean);
}
