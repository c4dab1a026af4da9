// Original file: proto/quiver/v1/writes.proto


export interface WritePart {
  'id'?: (number);
  'payload'?: (Buffer | Uint8Array | string);
}

export interface WritePart__Output {
  'id': (number);
  'payload': (Buffer);
}
