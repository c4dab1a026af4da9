// Original file: proto/quiver/v1/members.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'

export interface MembersClient extends grpc.Client {
  Hello(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<Nothing, Nothing__Output>;
  Hello(options?: grpc.CallOptions): grpc.ClientDuplexStream<Nothing, Nothing__Output>;
  hello(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<Nothing, Nothing__Output>;
  hello(options?: grpc.CallOptions): grpc.ClientDuplexStream<Nothing, Nothing__Output>;
  
}

export interface MembersHandlers extends grpc.UntypedServiceImplementation {
  Hello: grpc.handleBidiStreamingCall<Nothing__Output, Nothing>;
  
}

export interface MembersDefinition extends grpc.ServiceDefinition {
  Hello: MethodDefinition<Nothing, Nothing, Nothing__Output, Nothing__Output>
}

export interface Nothing {
}

export interface Nothing__Output {
}
