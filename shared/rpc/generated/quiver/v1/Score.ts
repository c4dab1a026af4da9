// Original file: proto/quiver/v1/reads.proto


export interface Score {
  'vector'?: (Buffer | Uint8Array | string);
  'externalIds'?: (Buffer | Uint8Array | string);
}

export interface Score__Output {
  'vector': (Buffer);
  'externalIds': (Buffer);
}
