// Original file: proto/quiver/v1/administration.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { ReportAnswer as _quiver_v1_ReportAnswer, ReportAnswer__Output as _quiver_v1_ReportAnswer__Output } from '../../quiver/v1/ReportAnswer';
import type { ReportRequest as _quiver_v1_ReportRequest, ReportRequest__Output as _quiver_v1_ReportRequest__Output } from '../../quiver/v1/ReportRequest';

export interface AdministrationClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_ReportRequest, _quiver_v1_ReportAnswer__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_ReportRequest, _quiver_v1_ReportAnswer__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_ReportRequest, _quiver_v1_ReportAnswer__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_ReportRequest, _quiver_v1_ReportAnswer__Output>;
  
}

export interface AdministrationHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<_quiver_v1_ReportRequest__Output, _quiver_v1_ReportAnswer>;
  
}

export interface AdministrationDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<_quiver_v1_ReportRequest, _quiver_v1_ReportAnswer, _quiver_v1_ReportRequest__Output, _quiver_v1_ReportAnswer__Output>
}
