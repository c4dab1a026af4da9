// Original file: proto/quiver/v1/reads.proto


export interface KeywordStatisticsCall {
  'terms'?: (Buffer | Uint8Array | string);
}

export interface KeywordStatisticsCall__Output {
  'terms': (Buffer);
}
