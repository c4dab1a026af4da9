// Original file: proto/quiver/v1/replication.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { AckFrame as _quiver_v1_AckFrame, AckFrame__Output as _quiver_v1_AckFrame__Output } from '../../quiver/v1/AckFrame';
import type { AppendFrame as _quiver_v1_AppendFrame, AppendFrame__Output as _quiver_v1_AppendFrame__Output } from '../../quiver/v1/AppendFrame';
import type { SnapshotAnswer as _quiver_v1_SnapshotAnswer, SnapshotAnswer__Output as _quiver_v1_SnapshotAnswer__Output } from '../../quiver/v1/SnapshotAnswer';
import type { SnapshotPart as _quiver_v1_SnapshotPart, SnapshotPart__Output as _quiver_v1_SnapshotPart__Output } from '../../quiver/v1/SnapshotPart';

export interface ReplicationClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_AppendFrame, _quiver_v1_AckFrame__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_AppendFrame, _quiver_v1_AckFrame__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_AppendFrame, _quiver_v1_AckFrame__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_AppendFrame, _quiver_v1_AckFrame__Output>;
  
  Install(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_SnapshotPart, _quiver_v1_SnapshotAnswer__Output>;
  Install(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_SnapshotPart, _quiver_v1_SnapshotAnswer__Output>;
  install(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_SnapshotPart, _quiver_v1_SnapshotAnswer__Output>;
  install(options?: grpc.CallOptions): grpc.ClientDuplexStream<_quiver_v1_SnapshotPart, _quiver_v1_SnapshotAnswer__Output>;
  
}

export interface ReplicationHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<_quiver_v1_AppendFrame__Output, _quiver_v1_AckFrame>;
  
  Install: grpc.handleBidiStreamingCall<_quiver_v1_SnapshotPart__Output, _quiver_v1_SnapshotAnswer>;
  
}

export interface ReplicationDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<_quiver_v1_AppendFrame, _quiver_v1_AckFrame, _quiver_v1_AppendFrame__Output, _quiver_v1_AckFrame__Output>
  Install: MethodDefinition<_quiver_v1_SnapshotPart, _quiver_v1_SnapshotAnswer, _quiver_v1_SnapshotPart__Output, _quiver_v1_SnapshotAnswer__Output>
}
