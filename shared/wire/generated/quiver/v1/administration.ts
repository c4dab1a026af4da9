// Original file: proto/quiver/v1/administration.proto

import type * as grpc from '@grpc/grpc-js'
import type { Long } from '@grpc/proto-loader';
import type { MethodDefinition } from '@grpc/proto-loader'
import type { ShardRef, ShardRef__Output } from './shard';

export interface AdministrationClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<ReportRequest, ReportAnswer__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<ReportRequest, ReportAnswer__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<ReportRequest, ReportAnswer__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<ReportRequest, ReportAnswer__Output>;
  
}

export interface AdministrationHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<ReportRequest__Output, ReportAnswer>;
  
}

export interface AdministrationDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<ReportRequest, ReportAnswer, ReportRequest__Output, ReportAnswer__Output>
}

export interface NodeReport {
  'shards'?: (ReplicaReport)[];
}

export interface NodeReport__Output {
  'shards': (ReplicaReport__Output)[];
}

export interface PeerReport {
  'node'?: (string);
  'matchSequence'?: (number | string | Long);
  'progress'?: (number | string);
}

export interface PeerReport__Output {
  'node': (string);
  'matchSequence': (number);
  'progress': (number);
}

export interface Replacement {
  'shard'?: (ShardRef | null);
  'epoch'?: (number | string | Long);
  'store'?: (string);
  'atSequence'?: (number | string | Long);
}

export interface Replacement__Output {
  'shard': (ShardRef__Output | null);
  'epoch': (number);
  'store': (string);
  'atSequence': (number);
}

export interface ReplicaDigest {
  'appliedSequence'?: (number | string | Long);
  'items'?: (number | string | Long);
  'content'?: (string);
  'order'?: (string);
  'sessions'?: (string);
}

export interface ReplicaDigest__Output {
  'appliedSequence': (number);
  'items': (number);
  'content': (string);
  'order': (string);
  'sessions': (string);
}

export interface ReplicaReport {
  'collectionUid'?: (string);
  'shard'?: (number);
  'leads'?: (boolean);
  'epoch'?: (number | string | Long);
  'lastSequence'?: (number | string | Long);
  'appliedSequence'?: (number | string | Long);
  'vectors'?: (number | string | Long);
  'diskBytes'?: (number | string | Long);
  'peers'?: (PeerReport)[];
}

export interface ReplicaReport__Output {
  'collectionUid': (string);
  'shard': (number);
  'leads': (boolean);
  'epoch': (number);
  'lastSequence': (number);
  'appliedSequence': (number);
  'vectors': (number);
  'diskBytes': (number);
  'peers': (PeerReport__Output)[];
}

export interface ReportAnswer {
  'id'?: (number);
  'report'?: (NodeReport | null);
  'digest'?: (ReplicaDigest | null);
  'replaced'?: (boolean);
  'purge'?: (string);
}

export interface ReportAnswer__Output {
  'id': (number);
  'report': (NodeReport__Output | null);
  'digest': (ReplicaDigest__Output | null);
  'replaced': (boolean);
  'purge': (string);
}

export interface ReportRequest {
  'id'?: (number);
  'probe'?: (boolean);
  'digestOf'?: (ShardRef | null);
  'atSequence'?: (number | string | Long);
  'replace'?: (Replacement | null);
  'optimize'?: (ShardRef | null);
  'purge'?: (ShardRef | null);
  'purgeStart'?: (boolean);
}

export interface ReportRequest__Output {
  'id': (number);
  'probe': (boolean);
  'digestOf': (ShardRef__Output | null);
  'atSequence': (number);
  'replace': (Replacement__Output | null);
  'optimize': (ShardRef__Output | null);
  'purge': (ShardRef__Output | null);
  'purgeStart': (boolean);
}
