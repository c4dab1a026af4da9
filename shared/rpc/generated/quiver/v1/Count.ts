// Original file: proto/quiver/v1/reads.proto


export interface Count {
}

export interface Count__Output {
}
