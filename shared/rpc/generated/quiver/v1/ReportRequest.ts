// Original file: proto/quiver/v1/administration.proto


export interface ReportRequest {
  'id'?: (number);
  'probe'?: (boolean);
}

export interface ReportRequest__Output {
  'id': (number);
  'probe': (boolean);
}
