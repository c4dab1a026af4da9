// Original file: proto/quiver/v1/peers.proto


export interface AdmitRequest {
  'id'?: (number);
  'subject'?: (string);
}

export interface AdmitRequest__Output {
  'id': (number);
  'subject': (string);
}
