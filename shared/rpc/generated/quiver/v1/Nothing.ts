// Original file: proto/quiver/v1/members.proto


export interface Nothing {
}

export interface Nothing__Output {
}
