// Original file: proto/quiver/v1/reads.proto


export interface Search {
  'vector'?: (Buffer | Uint8Array | string);
  'k'?: (number);
  'filter'?: (string);
  'ef'?: (number);
  'exact'?: (boolean);
  'texts'?: (boolean);
}

export interface Search__Output {
  'vector': (Buffer);
  'k': (number);
  'filter': (string);
  'ef': (number);
  'exact': (boolean);
  'texts': (boolean);
}
