// Original file: proto/quiver/v1/reads.proto


export interface Scan {
  'afterExternalId'?: (Buffer | Uint8Array | string);
  'afterStamp'?: (number | string);
  'limit'?: (number);
  'filter'?: (string);
  'vectors'?: (boolean);
  'withoutTexts'?: (boolean);
}

export interface Scan__Output {
  'afterExternalId': (Buffer);
  'afterStamp': (number);
  'limit': (number);
  'filter': (string);
  'vectors': (boolean);
  'withoutTexts': (boolean);
}
