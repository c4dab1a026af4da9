// Original file: proto/quiver/v1/replication.proto

import type * as grpc from '@grpc/grpc-js'
import type { Long } from '@grpc/proto-loader';
import type { MethodDefinition } from '@grpc/proto-loader'

export interface AckFrame {
  'acks'?: (ShardAck)[];
  'beats'?: (BeatAck)[];
}

export interface AckFrame__Output {
  'acks': (ShardAck__Output)[];
  'beats': (BeatAck__Output)[];
}

export interface AppendFrame {
  'node'?: (string);
  'pieces'?: (PayloadPiece)[];
  'appends'?: (ShardAppend)[];
  'beats'?: (Beat)[];
}

export interface AppendFrame__Output {
  'node': (string);
  'pieces': (PayloadPiece__Output)[];
  'appends': (ShardAppend__Output)[];
  'beats': (Beat__Output)[];
}

export interface Beat {
  'session'?: (string);
  'generation'?: (number | string | Long);
  'base'?: (number | string | Long);
  'sentAt'?: (number | string);
  'sharesSince'?: (number | string);
  'joined'?: (BeatMember)[];
  'left'?: (number | string | Long)[];
  'lane'?: (number);
}

export interface Beat__Output {
  'session': (string);
  'generation': (number);
  'base': (number);
  'sentAt': (number);
  'sharesSince': (number);
  'joined': (BeatMember__Output)[];
  'left': (number)[];
  'lane': (number);
}

export interface BeatAck {
  'session'?: (string);
  'generation'?: (number | string | Long);
  'sentAt'?: (number | string);
  'excepted'?: (number | string | Long)[];
  'isUnknown'?: (boolean);
}

export interface BeatAck__Output {
  'session': (string);
  'generation': (number);
  'sentAt': (number);
  'excepted': (number)[];
  'isUnknown': (boolean);
}

export interface BeatMember {
  'id'?: (number | string | Long);
  'collectionUid'?: (string);
  'shard'?: (number);
  'epoch'?: (number | string | Long);
  'prev'?: (LogPosition | null);
  'commit'?: (number | string | Long);
  'recorded'?: (RecordedMatch)[];
  'unshippedFrom'?: (number | string | Long);
}

export interface BeatMember__Output {
  'id': (number);
  'collectionUid': (string);
  'shard': (number);
  'epoch': (number);
  'prev': (LogPosition__Output | null);
  'commit': (number);
  'recorded': (RecordedMatch__Output)[];
  'unshippedFrom': (number);
}

export interface ChunkPiece {
  'bytes'?: (Buffer | Uint8Array | string);
  'isLast'?: (boolean);
}

export interface ChunkPiece__Output {
  'bytes': (Buffer);
  'isLast': (boolean);
}

export interface Entry {
  'epoch'?: (number | string | Long);
  'sequence'?: (number | string | Long);
  'write'?: (LoggedWrite | null);
  'format'?: (number);
}

export interface Entry__Output {
  'epoch': (number);
  'sequence': (number);
  'write': (LoggedWrite__Output | null);
  'format': (number);
}

export interface Fenced {
  'promisedEpoch'?: (number | string | Long);
}

export interface Fenced__Output {
  'promisedEpoch': (number);
}

export interface LogPosition {
  'epoch'?: (number | string | Long);
  'sequence'?: (number | string | Long);
}

export interface LogPosition__Output {
  'epoch': (number);
  'sequence': (number);
}

export interface LoggedWrite {
  'session'?: (string);
  'requestNumber'?: (number | string | Long);
  'settledBelow'?: (number | string | Long);
  'payload'?: (Buffer | Uint8Array | string);
  'payloadId'?: (number);
  'at'?: (number | string);
}

export interface LoggedWrite__Output {
  'session': (string);
  'requestNumber': (number);
  'settledBelow': (number);
  'payload': (Buffer);
  'payloadId': (number);
  'at': (number);
}

export interface Match {
  'match'?: (number | string | Long);
  'agreed'?: (number | string | Long);
}

export interface Match__Output {
  'match': (number);
  'agreed': (number);
}

export interface Mismatch {
  'prev'?: (number | string | Long);
  'hint'?: (LogPosition | null);
}

export interface Mismatch__Output {
  'prev': (number);
  'hint': (LogPosition__Output | null);
}

export interface PayloadPiece {
  'payloadId'?: (number);
  'bytes'?: (Buffer | Uint8Array | string);
}

export interface PayloadPiece__Output {
  'payloadId': (number);
  'bytes': (Buffer);
}

export interface RecordedMatch {
  'replica'?: (ReplicaName | null);
  'epoch'?: (number | string | Long);
  'match'?: (number | string | Long);
}

export interface RecordedMatch__Output {
  'replica': (ReplicaName__Output | null);
  'epoch': (number);
  'match': (number);
}

export interface ReplicaName {
  'node'?: (string);
  'store'?: (string);
}

export interface ReplicaName__Output {
  'node': (string);
  'store': (string);
}

export interface ReplicationClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<AppendFrame, AckFrame__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<AppendFrame, AckFrame__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<AppendFrame, AckFrame__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<AppendFrame, AckFrame__Output>;
  
  Install(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<SnapshotPart, SnapshotAnswer__Output>;
  Install(options?: grpc.CallOptions): grpc.ClientDuplexStream<SnapshotPart, SnapshotAnswer__Output>;
  install(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<SnapshotPart, SnapshotAnswer__Output>;
  install(options?: grpc.CallOptions): grpc.ClientDuplexStream<SnapshotPart, SnapshotAnswer__Output>;
  
}

export interface ReplicationHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<AppendFrame__Output, AckFrame>;
  
  Install: grpc.handleBidiStreamingCall<SnapshotPart__Output, SnapshotAnswer>;
  
}

export interface ReplicationDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<AppendFrame, AckFrame, AppendFrame__Output, AckFrame__Output>
  Install: MethodDefinition<SnapshotPart, SnapshotAnswer, SnapshotPart__Output, SnapshotAnswer__Output>
}

export interface ShardAck {
  'collectionUid'?: (string);
  'shard'?: (number);
  'epoch'?: (number | string | Long);
  'replica'?: (ReplicaName | null);
  'sentAt'?: (number | string);
  'match'?: (Match | null);
  'mismatch'?: (Mismatch | null);
  'fenced'?: (Fenced | null);
  'awaited'?: (number | string | Long);
  'result'?: "match"|"mismatch"|"fenced";
}

export interface ShardAck__Output {
  'collectionUid': (string);
  'shard': (number);
  'epoch': (number);
  'replica': (ReplicaName__Output | null);
  'sentAt': (number);
  'match'?: (Match__Output | null);
  'mismatch'?: (Mismatch__Output | null);
  'fenced'?: (Fenced__Output | null);
  'awaited': (number);
  'result'?: "match"|"mismatch"|"fenced";
}

export interface ShardAppend {
  'collectionUid'?: (string);
  'shard'?: (number);
  'epoch'?: (number | string | Long);
  'prev'?: (LogPosition | null);
  'commit'?: (number | string | Long);
  'sentAt'?: (number | string);
  'releasesLease'?: (boolean);
  'recorded'?: (RecordedMatch)[];
  'entries'?: (Entry)[];
  'sharesSince'?: (number | string);
  'withdrawsShare'?: (boolean);
  'unshippedFrom'?: (number | string | Long);
}

export interface ShardAppend__Output {
  'collectionUid': (string);
  'shard': (number);
  'epoch': (number);
  'prev': (LogPosition__Output | null);
  'commit': (number);
  'sentAt': (number);
  'releasesLease': (boolean);
  'recorded': (RecordedMatch__Output)[];
  'entries': (Entry__Output)[];
  'sharesSince': (number);
  'withdrawsShare': (boolean);
  'unshippedFrom': (number);
}

export interface SnapshotAnswer {
  'installedSequence'?: (number | string | Long);
  'refusal'?: (string);
  'answer'?: "installedSequence"|"refusal";
}

export interface SnapshotAnswer__Output {
  'installedSequence'?: (number);
  'refusal'?: (string);
  'answer'?: "installedSequence"|"refusal";
}

export interface SnapshotHeader {
  'collectionUid'?: (string);
  'shard'?: (number);
  'epoch'?: (number | string | Long);
}

export interface SnapshotHeader__Output {
  'collectionUid': (string);
  'shard': (number);
  'epoch': (number);
}

export interface SnapshotPart {
  'header'?: (SnapshotHeader | null);
  'piece'?: (ChunkPiece | null);
  'part'?: "header"|"piece";
}

export interface SnapshotPart__Output {
  'header'?: (SnapshotHeader__Output | null);
  'piece'?: (ChunkPiece__Output | null);
  'part'?: "header"|"piece";
}
