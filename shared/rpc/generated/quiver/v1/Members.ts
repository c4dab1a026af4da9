// Original file: proto/quiver/v1/members.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { Nothing as _quiver_v1_Nothing, Nothing__Output as _quiver_v1_Nothing__Output } from '../../quiver/v1/Nothing';

export interface MembersClient extends grpc.Client {
  Hello(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_Nothing, _quiver_v1_Nothing__Output>;
  Hello(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_Nothing, _quiver_v1_Nothing__Output>;
  hello(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_Nothing, _quiver_v1_Nothing__Output>;
  hello(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_Nothing, _quiver_v1_Nothing__Output>;
  
}

export interface MembersHandlers extends grpc.UntypedServiceImplementation {
  Hello: grpc.handleBidiStreamingCall<_quiver_v1_Nothing__Output, _quiver_v1_Nothing>;
  
}

export interface MembersDefinition extends grpc.ServiceDefinition {
  Hello: MethodDefinition<_quiver_v1_Nothing, _quiver_v1_Nothing, _quiver_v1_Nothing__Output, _quiver_v1_Nothing__Output>
}
