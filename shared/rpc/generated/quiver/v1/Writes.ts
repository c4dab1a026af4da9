// Original file: proto/quiver/v1/writes.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { WriteAnswerFrame as _quiver_v1_WriteAnswerFrame, WriteAnswerFrame__Output as _quiver_v1_WriteAnswerFrame__Output } from '../../quiver/v1/WriteAnswerFrame';
import type { WriteFrame as _quiver_v1_WriteFrame, WriteFrame__Output as _quiver_v1_WriteFrame__Output } from '../../quiver/v1/WriteFrame';

export interface WritesClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_WriteFrame, _quiver_v1_WriteAnswerFrame__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_WriteFrame, _quiver_v1_WriteAnswerFrame__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_WriteFrame, _quiver_v1_WriteAnswerFrame__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_WriteFrame, _quiver_v1_WriteAnswerFrame__Output>;
  
}

export interface WritesHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<_quiver_v1_WriteFrame__Output, _quiver_v1_WriteAnswerFrame>;
  
}

export interface WritesDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<_quiver_v1_WriteFrame, _quiver_v1_WriteAnswerFrame, _quiver_v1_WriteFrame__Output, _quiver_v1_WriteAnswerFrame__Output>
}
