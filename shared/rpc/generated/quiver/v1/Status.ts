// Original file: proto/quiver/v1/reads.proto


export interface Status {
}

export interface Status__Output {
}
