// Original file: proto/quiver/v1/reads.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { AnswerFrame as _quiver_v1_AnswerFrame, AnswerFrame__Output as _quiver_v1_AnswerFrame__Output } from '../../quiver/v1/AnswerFrame';
import type { ReadFrame as _quiver_v1_ReadFrame, ReadFrame__Output as _quiver_v1_ReadFrame__Output } from '../../quiver/v1/ReadFrame';

export interface ReadsClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_ReadFrame, _quiver_v1_AnswerFrame__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_ReadFrame, _quiver_v1_AnswerFrame__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_ReadFrame, _quiver_v1_AnswerFrame__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_ReadFrame, _quiver_v1_AnswerFrame__Output>;
  
}

export interface ReadsHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<_quiver_v1_ReadFrame__Output, _quiver_v1_AnswerFrame>;
  
}

export interface ReadsDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<_quiver_v1_ReadFrame, _quiver_v1_AnswerFrame, _quiver_v1_ReadFrame__Output, _quiver_v1_AnswerFrame__Output>
}
