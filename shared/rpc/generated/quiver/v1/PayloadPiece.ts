// Original file: proto/quiver/v1/replication.proto


export interface PayloadPiece {
  'payloadId'?: (number);
  'bytes'?: (Buffer | Uint8Array | string);
}

export interface PayloadPiece__Output {
  'payloadId': (number);
  'bytes': (Buffer);
}
