// Original file: proto/quiver/v1/writes.proto

import type * as grpc from '@grpc/grpc-js'
import type { Long } from '@grpc/proto-loader';
import type { MethodDefinition } from '@grpc/proto-loader'
import type { Failure, Failure__Output, Noted, Noted__Output, ShardRef, ShardRef__Output } from './shard';

export interface WriteAnswer {
  'id'?: (number);
  'outcomes'?: (Buffer | Uint8Array | string);
  'failure'?: (Failure | null);
  'versions'?: (Buffer | Uint8Array | string);
  'result'?: "outcomes"|"failure";
}

export interface WriteAnswer__Output {
  'id': (number);
  'outcomes'?: (Buffer);
  'failure'?: (Failure__Output | null);
  'versions': (Buffer);
  'result'?: "outcomes"|"failure";
}

export interface WriteAnswerFrame {
  'answers'?: (WriteAnswer)[];
}

export interface WriteAnswerFrame__Output {
  'answers': (WriteAnswer__Output)[];
}

export interface WriteFrame {
  'requests'?: (WriteRequest)[];
  'parts'?: (WritePart)[];
  'cancelledIds'?: (number)[];
}

export interface WriteFrame__Output {
  'requests': (WriteRequest__Output)[];
  'parts': (WritePart__Output)[];
  'cancelledIds': (number)[];
}

export interface WritePart {
  'id'?: (number);
  'payload'?: (Buffer | Uint8Array | string);
}

export interface WritePart__Output {
  'id': (number);
  'payload': (Buffer);
}

export interface WriteRequest {
  'id'?: (number);
  'shard'?: (ShardRef | null);
  'epoch'?: (number | string | Long);
  'remainingMs'?: (number);
  'session'?: (string);
  'requestNumber'?: (number | string | Long);
  'settledBelow'?: (number | string | Long);
  'payloadBytes'?: (number);
  'payload'?: (Buffer | Uint8Array | string);
  'noted'?: (Noted | null);
}

export interface WriteRequest__Output {
  'id': (number);
  'shard': (ShardRef__Output | null);
  'epoch': (number);
  'remainingMs': (number);
  'session': (string);
  'requestNumber': (number);
  'settledBelow': (number);
  'payloadBytes': (number);
  'payload': (Buffer);
  'noted': (Noted__Output | null);
}

export interface WritesClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<WriteFrame, WriteAnswerFrame__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<WriteFrame, WriteAnswerFrame__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<WriteFrame, WriteAnswerFrame__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<WriteFrame, WriteAnswerFrame__Output>;
  
}

export interface WritesHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<WriteFrame__Output, WriteAnswerFrame>;
  
}

export interface WritesDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<WriteFrame, WriteAnswerFrame, WriteFrame__Output, WriteAnswerFrame__Output>
}
