// Original file: proto/quiver/v1/reads.proto


export interface Fetch {
  'externalIds'?: (Buffer | Uint8Array | string);
  'vectors'?: (boolean);
}

export interface Fetch__Output {
  'externalIds': (Buffer);
  'vectors': (boolean);
}
