// Original file: proto/quiver/v1/peers.proto

import type * as grpc from '@grpc/grpc-js'
import type { Long } from '@grpc/proto-loader';
import type { MethodDefinition } from '@grpc/proto-loader'

export interface AdmitRequest {
  'id'?: (number);
  'subject'?: (string);
  'aliasesRevision'?: (number | string | Long);
  'alias'?: (string);
}

export interface AdmitRequest__Output {
  'id': (number);
  'subject': (string);
  'aliasesRevision': (number);
  'alias': (string);
}

export interface KnownAlias {
  'held'?: (boolean);
  'revision'?: (number | string | Long);
  'collection'?: (string);
}

export interface KnownAlias__Output {
  'held': (boolean);
  'revision': (number);
  'collection': (string);
}

export interface PeersClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<AdmitRequest, RateDecision__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<AdmitRequest, RateDecision__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<AdmitRequest, RateDecision__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<AdmitRequest, RateDecision__Output>;
  
}

export interface PeersHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<AdmitRequest__Output, RateDecision>;
  
}

export interface PeersDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<AdmitRequest, RateDecision, AdmitRequest__Output, RateDecision__Output>
}

export interface RateDecision {
  'id'?: (number);
  'allowed'?: (boolean);
  'limit'?: (number | string | Long);
  'remaining'?: (number | string | Long);
  'resetSeconds'?: (number);
  'knownAlias'?: (KnownAlias | null);
}

export interface RateDecision__Output {
  'id': (number);
  'allowed': (boolean);
  'limit': (number);
  'remaining': (number);
  'resetSeconds': (number);
  'knownAlias': (KnownAlias__Output | null);
}
