// Original file: proto/quiver/v1/peers.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { AdmitRequest as _quiver_v1_AdmitRequest, AdmitRequest__Output as _quiver_v1_AdmitRequest__Output } from '../../quiver/v1/AdmitRequest';
import type { RateDecision as _quiver_v1_RateDecision, RateDecision__Output as _quiver_v1_RateDecision__Output } from '../../quiver/v1/RateDecision';

export interface PeersClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_AdmitRequest, _quiver_v1_RateDecision__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_AdmitRequest, _quiver_v1_RateDecision__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_AdmitRequest, _quiver_v1_RateDecision__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_AdmitRequest, _quiver_v1_RateDecision__Output>;
  
}

export interface PeersHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<_quiver_v1_AdmitRequest__Output, _quiver_v1_RateDecision>;
  
}

export interface PeersDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<_quiver_v1_AdmitRequest, _quiver_v1_RateDecision, _quiver_v1_AdmitRequest__Output, _quiver_v1_RateDecision__Output>
}
