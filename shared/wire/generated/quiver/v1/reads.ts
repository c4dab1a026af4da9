// Original file: proto/quiver/v1/reads.proto

import type * as grpc from '@grpc/grpc-js'
import type { Long } from '@grpc/proto-loader';
import type { MethodDefinition } from '@grpc/proto-loader'
import type { Failure, Failure__Output, Noted, Noted__Output, ShardRef, ShardRef__Output } from './shard';

export interface Aggregate {
  'questions'?: (string);
}

export interface Aggregate__Output {
  'questions': (string);
}

export interface Answer {
  'id'?: (number);
  'more'?: (boolean);
  'vectorCount'?: (number | string | Long);
  'cost'?: (SearchCost | null);
  'hits'?: (Buffer | Uint8Array | string);
  'items'?: (Buffer | Uint8Array | string);
  'keywordStatistics'?: (KeywordStatistics | null);
  'count'?: (number | string | Long);
  'status'?: (ShardStatus | null);
  'failure'?: (Failure | null);
  'index'?: (IndexProgress | null);
  'transfer'?: (ShardTransfer | null);
  'marks'?: (Buffer | Uint8Array | string);
  'backup'?: (ShardBackup | null);
  'served'?: (Served | null);
  'purge'?: (string);
  'fields'?: (string);
  'matches'?: (number | string | Long);
  'aggregates'?: (string);
  'order'?: (string);
  'expansions'?: (string);
  'boostDepth'?: (number | string | Long);
  'boostNumbers'?: (string);
  'lastVersion'?: (number | string);
  '_boostDepth'?: "boostDepth";
  'result'?: "hits"|"items"|"keywordStatistics"|"count"|"status"|"failure"|"index"|"transfer"|"marks"|"backup"|"purge"|"fields"|"matches"|"aggregates"|"order"|"expansions"|"lastVersion"|"boostNumbers";
}

export interface Answer__Output {
  'id': (number);
  'more': (boolean);
  'vectorCount': (number);
  'cost': (SearchCost__Output | null);
  'hits'?: (Buffer);
  'items'?: (Buffer);
  'keywordStatistics'?: (KeywordStatistics__Output | null);
  'count'?: (number);
  'status'?: (ShardStatus__Output | null);
  'failure'?: (Failure__Output | null);
  'index'?: (IndexProgress__Output | null);
  'transfer'?: (ShardTransfer__Output | null);
  'marks'?: (Buffer);
  'backup'?: (ShardBackup__Output | null);
  'served': (Served__Output | null);
  'purge'?: (string);
  'fields'?: (string);
  'matches'?: (number);
  'aggregates'?: (string);
  'order'?: (string);
  'expansions'?: (string);
  'boostDepth'?: (number);
  'boostNumbers'?: (string);
  'lastVersion'?: (number);
  '_boostDepth'?: "boostDepth";
  'result'?: "hits"|"items"|"keywordStatistics"|"count"|"status"|"failure"|"index"|"transfer"|"marks"|"backup"|"purge"|"fields"|"matches"|"aggregates"|"order"|"expansions"|"lastVersion"|"boostNumbers";
}

export interface AnswerFrame {
  'answers'?: (Answer)[];
}

export interface AnswerFrame__Output {
  'answers': (Answer__Output)[];
}

export interface Backup {
  'id'?: (string);
  'target'?: (string);
  'base'?: (BackupObject | null);
}

export interface Backup__Output {
  'id': (string);
  'target': (string);
  'base': (BackupObject__Output | null);
}

export interface BackupObject {
  'key'?: (string);
  'bytes'?: (number | string | Long);
  'sha256'?: (string);
}

export interface BackupObject__Output {
  'key': (string);
  'bytes': (number);
  'sha256': (string);
}

export interface BoostNumbers {
  'externalIds'?: (Buffer | Uint8Array | string);
  'boosts'?: (string);
}

export interface BoostNumbers__Output {
  'externalIds': (Buffer);
  'boosts': (string);
}

export interface Count {
}

export interface Count__Output {
}

export interface Fetch {
  'externalIds'?: (Buffer | Uint8Array | string);
  'vectors'?: (boolean);
  'withoutTexts'?: (boolean);
  'versions'?: (boolean);
  'bytesMax'?: (number);
  'expiries'?: (boolean);
  'filter'?: (string);
  'dates'?: (boolean);
  'filling'?: (boolean);
  '_withoutTexts'?: "withoutTexts";
  '_versions'?: "versions";
  '_expiries'?: "expiries";
  '_dates'?: "dates";
  '_filling'?: "filling";
  '_bytesMax'?: "bytesMax";
}

export interface Fetch__Output {
  'externalIds': (Buffer);
  'vectors': (boolean);
  'withoutTexts'?: (boolean);
  'versions'?: (boolean);
  'bytesMax'?: (number);
  'expiries'?: (boolean);
  'filter': (string);
  'dates'?: (boolean);
  'filling'?: (boolean);
  '_withoutTexts'?: "withoutTexts";
  '_versions'?: "versions";
  '_expiries'?: "expiries";
  '_dates'?: "dates";
  '_filling'?: "filling";
  '_bytesMax'?: "bytesMax";
}

export interface Fields {
  'question'?: (string);
}

export interface Fields__Output {
  'question': (string);
}

export interface HitPlace {
  'score'?: (number | string);
  'externalId'?: (Buffer | Uint8Array | string);
}

export interface HitPlace__Output {
  'score': (number);
  'externalId': (Buffer);
}

export interface IndexProgress {
  'state'?: (string);
  'rows'?: (number | string | Long);
  'indexedRows'?: (number | string | Long);
  'refinedRows'?: (number | string | Long);
  'secondsLeft'?: (number | string);
  'optimizing'?: (boolean);
  '_secondsLeft'?: "secondsLeft";
}

export interface IndexProgress__Output {
  'state': (string);
  'rows': (number);
  'indexedRows': (number);
  'refinedRows': (number);
  'secondsLeft'?: (number);
  'optimizing': (boolean);
  '_secondsLeft'?: "secondsLeft";
}

export interface KeywordExpansions {
  'request'?: (string);
}

export interface KeywordExpansions__Output {
  'request': (string);
}

export interface KeywordSearch {
  'terms'?: (Buffer | Uint8Array | string);
  'statistics'?: (KeywordStatistics | null);
  'k'?: (number);
  'filter'?: (string);
  'bytesMax'?: (number);
  'plan'?: (string);
  'fieldWeights'?: (number)[];
  'boosts'?: (string);
  'part'?: (ListPart | null);
  'versions'?: (boolean);
  '_bytesMax'?: "bytesMax";
  '_boosts'?: "boosts";
  '_versions'?: "versions";
}

export interface KeywordSearch__Output {
  'terms': (Buffer);
  'statistics': (KeywordStatistics__Output | null);
  'k': (number);
  'filter': (string);
  'bytesMax'?: (number);
  'plan': (string);
  'fieldWeights': (number)[];
  'boosts'?: (string);
  'part': (ListPart__Output | null);
  'versions'?: (boolean);
  '_bytesMax'?: "bytesMax";
  '_boosts'?: "boosts";
  '_versions'?: "versions";
}

export interface KeywordStatistics {
  'documentCount'?: (number | string | Long);
  'totalLength'?: (number | string | Long);
  'documentFrequencies'?: (number | string | Long)[];
}

export interface KeywordStatistics__Output {
  'documentCount': (number);
  'totalLength': (number);
  'documentFrequencies': (number)[];
}

export interface KeywordStatisticsCall {
  'terms'?: (Buffer | Uint8Array | string);
  'fieldWeights'?: (number)[];
}

export interface KeywordStatisticsCall__Output {
  'terms': (Buffer);
  'fieldWeights': (number)[];
}

export interface LastVersion {
}

export interface LastVersion__Output {
}

export interface ListPart {
  'versionMax'?: (number | string);
  'after'?: (HitPlace | null);
  'passed'?: (number | string);
}

export interface ListPart__Output {
  'versionMax': (number);
  'after': (HitPlace__Output | null);
  'passed': (number);
}

export interface Marks {
  'token'?: (string);
  'after'?: (number | string | Long);
  'limit'?: (number);
}

export interface Marks__Output {
  'token': (string);
  'after': (number);
  'limit': (number);
}

export interface Matches {
  'filter'?: (string);
}

export interface Matches__Output {
  'filter': (string);
}

export interface Optimize {
}

export interface Optimize__Output {
}

export interface Order {
  'request'?: (string);
}

export interface Order__Output {
  'request': (string);
}

export interface Purge {
  'start'?: (boolean);
}

export interface Purge__Output {
  'start': (boolean);
}

export interface ReadFrame {
  'requests'?: (ReadRequest)[];
  'cancelledIds'?: (number)[];
}

export interface ReadFrame__Output {
  'requests': (ReadRequest__Output)[];
  'cancelledIds': (number)[];
}

export interface ReadRequest {
  'id'?: (number);
  'shard'?: (ShardRef | null);
  'epoch'?: (number | string | Long);
  'remainingMs'?: (number);
  'search'?: (Search | null);
  'score'?: (Score | null);
  'keywordStatistics'?: (KeywordStatisticsCall | null);
  'keywordSearch'?: (KeywordSearch | null);
  'fetch'?: (Fetch | null);
  'scan'?: (Scan | null);
  'count'?: (Count | null);
  'status'?: (Status | null);
  'optimize'?: (Optimize | null);
  'sample'?: (Sample | null);
  'transfer'?: (Transfer | null);
  'marks'?: (Marks | null);
  'backup'?: (Backup | null);
  'noted'?: (Noted | null);
  'purge'?: (Purge | null);
  'fields'?: (Fields | null);
  'matches'?: (Matches | null);
  'aggregate'?: (Aggregate | null);
  'order'?: (Order | null);
  'keywordExpansions'?: (KeywordExpansions | null);
  'boostNumbers'?: (BoostNumbers | null);
  'lastVersion'?: (LastVersion | null);
  'call'?: "search"|"score"|"keywordStatistics"|"keywordSearch"|"fetch"|"scan"|"count"|"status"|"optimize"|"sample"|"transfer"|"marks"|"backup"|"purge"|"fields"|"matches"|"aggregate"|"order"|"keywordExpansions"|"lastVersion"|"boostNumbers";
}

export interface ReadRequest__Output {
  'id': (number);
  'shard': (ShardRef__Output | null);
  'epoch': (number);
  'remainingMs': (number);
  'search'?: (Search__Output | null);
  'score'?: (Score__Output | null);
  'keywordStatistics'?: (KeywordStatisticsCall__Output | null);
  'keywordSearch'?: (KeywordSearch__Output | null);
  'fetch'?: (Fetch__Output | null);
  'scan'?: (Scan__Output | null);
  'count'?: (Count__Output | null);
  'status'?: (Status__Output | null);
  'optimize'?: (Optimize__Output | null);
  'sample'?: (Sample__Output | null);
  'transfer'?: (Transfer__Output | null);
  'marks'?: (Marks__Output | null);
  'backup'?: (Backup__Output | null);
  'noted': (Noted__Output | null);
  'purge'?: (Purge__Output | null);
  'fields'?: (Fields__Output | null);
  'matches'?: (Matches__Output | null);
  'aggregate'?: (Aggregate__Output | null);
  'order'?: (Order__Output | null);
  'keywordExpansions'?: (KeywordExpansions__Output | null);
  'boostNumbers'?: (BoostNumbers__Output | null);
  'lastVersion'?: (LastVersion__Output | null);
  'call'?: "search"|"score"|"keywordStatistics"|"keywordSearch"|"fetch"|"scan"|"count"|"status"|"optimize"|"sample"|"transfer"|"marks"|"backup"|"purge"|"fields"|"matches"|"aggregate"|"order"|"keywordExpansions"|"lastVersion"|"boostNumbers";
}

export interface ReadsClient extends grpc.Client {
  Exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<ReadFrame, AnswerFrame__Output>;
  Exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<ReadFrame, AnswerFrame__Output>;
  exchange(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<ReadFrame, AnswerFrame__Output>;
  exchange(options?: grpc.CallOptions): grpc.ClientDuplexStream<ReadFrame, AnswerFrame__Output>;
  
}

export interface ReadsHandlers extends grpc.UntypedServiceImplementation {
  Exchange: grpc.handleBidiStreamingCall<ReadFrame__Output, AnswerFrame>;
  
}

export interface ReadsDefinition extends grpc.ServiceDefinition {
  Exchange: MethodDefinition<ReadFrame, AnswerFrame, ReadFrame__Output, AnswerFrame__Output>
}

export interface Sample {
  'size'?: (number);
  'seed'?: (number);
  'filter'?: (string);
}

export interface Sample__Output {
  'size': (number);
  'seed': (number);
  'filter': (string);
}

export interface Scan {
  'afterExternalId'?: (Buffer | Uint8Array | string);
  'afterStamp'?: (number | string);
  'limit'?: (number);
  'filter'?: (string);
  'vectors'?: (boolean);
  'withoutTexts'?: (boolean);
  'versions'?: (boolean);
  'bytesMax'?: (number);
  'expiries'?: (boolean);
  'dates'?: (boolean);
  '_versions'?: "versions";
  '_expiries'?: "expiries";
  '_dates'?: "dates";
  '_bytesMax'?: "bytesMax";
}

export interface Scan__Output {
  'afterExternalId': (Buffer);
  'afterStamp': (number);
  'limit': (number);
  'filter': (string);
  'vectors': (boolean);
  'withoutTexts': (boolean);
  'versions'?: (boolean);
  'bytesMax'?: (number);
  'expiries'?: (boolean);
  'dates'?: (boolean);
  '_versions'?: "versions";
  '_expiries'?: "expiries";
  '_dates'?: "dates";
  '_bytesMax'?: "bytesMax";
}

export interface Score {
  'vector'?: (Buffer | Uint8Array | string);
  'externalIds'?: (Buffer | Uint8Array | string);
  'bytesMax'?: (number);
  'boosts'?: (string);
  '_bytesMax'?: "bytesMax";
  '_boosts'?: "boosts";
}

export interface Score__Output {
  'vector': (Buffer);
  'externalIds': (Buffer);
  'bytesMax'?: (number);
  'boosts'?: (string);
  '_bytesMax'?: "bytesMax";
  '_boosts'?: "boosts";
}

export interface Search {
  'vector'?: (Buffer | Uint8Array | string);
  'k'?: (number);
  'filter'?: (string);
  'ef'?: (number);
  'exact'?: (boolean);
  'texts'?: (boolean);
  'counted'?: (boolean);
  'bytesMax'?: (number);
  'boosts'?: (string);
  'part'?: (ListPart | null);
  'versions'?: (boolean);
  '_counted'?: "counted";
  '_bytesMax'?: "bytesMax";
  '_boosts'?: "boosts";
  '_versions'?: "versions";
}

export interface Search__Output {
  'vector': (Buffer);
  'k': (number);
  'filter': (string);
  'ef': (number);
  'exact': (boolean);
  'texts': (boolean);
  'counted'?: (boolean);
  'bytesMax'?: (number);
  'boosts'?: (string);
  'part': (ListPart__Output | null);
  'versions'?: (boolean);
  '_counted'?: "counted";
  '_bytesMax'?: "bytesMax";
  '_boosts'?: "boosts";
  '_versions'?: "versions";
}

export interface SearchCost {
  'scored'?: (number | string | Long);
  'rescored'?: (number | string | Long);
  'detail'?: (SearchDetail | null);
}

export interface SearchCost__Output {
  'scored': (number);
  'rescored': (number);
  'detail': (SearchDetail__Output | null);
}

export interface SearchDetail {
  'plan'?: (number);
  'expanded'?: (number | string | Long);
  'allowed'?: (number | string | Long);
  'filterMs'?: (number | string);
  'queueMs'?: (number | string);
  'vectorsMs'?: (number | string);
  'hitsMs'?: (number | string);
  'textsMs'?: (number | string);
}

export interface SearchDetail__Output {
  'plan': (number);
  'expanded': (number);
  'allowed': (number);
  'filterMs': (number);
  'queueMs': (number);
  'vectorsMs': (number);
  'hitsMs': (number);
  'textsMs': (number);
}

export interface SegmentStatus {
  'sealed'?: (boolean);
  'rows'?: (number | string | Long);
  'deletedRows'?: (number | string | Long);
  'ef'?: (number);
}

export interface SegmentStatus__Output {
  'sealed': (boolean);
  'rows': (number);
  'deletedRows': (number);
  'ef': (number);
}

export interface Served {
  'waitMs'?: (number | string);
  'runMs'?: (number | string);
}

export interface Served__Output {
  'waitMs': (number);
  'runMs': (number);
}

export interface ShardBackup {
  'state'?: (string);
  'copiedBytes'?: (number | string | Long);
  'totalBytes'?: (number | string | Long);
  'items'?: (number | string | Long);
  'manifest'?: (BackupObject | null);
  'needs'?: (string)[];
  'error'?: (string);
  'position'?: (ShippedPosition | null);
}

export interface ShardBackup__Output {
  'state': (string);
  'copiedBytes': (number);
  'totalBytes': (number);
  'items': (number);
  'manifest': (BackupObject__Output | null);
  'needs': (string)[];
  'error': (string);
  'position': (ShippedPosition__Output | null);
}

export interface ShardStatus {
  'vectorCount'?: (number | string | Long);
  'lastOperation'?: (number | string | Long);
  'lastStamp'?: (number | string);
  'diskBytes'?: (number | string | Long);
  'memoryBytes'?: (number | string | Long);
  'segments'?: (SegmentStatus)[];
  'index'?: (IndexProgress | null);
}

export interface ShardStatus__Output {
  'vectorCount': (number);
  'lastOperation': (number);
  'lastStamp': (number);
  'diskBytes': (number);
  'memoryBytes': (number);
  'segments': (SegmentStatus__Output)[];
  'index': (IndexProgress__Output | null);
}

export interface ShardTransfer {
  'stage'?: (string);
  'term'?: (number | string | Long);
  'reshard'?: (string);
  'since'?: (number | string | Long);
  'lastChange'?: (number | string | Long);
  'externalIds'?: (Buffer | Uint8Array | string);
  'upTo'?: (number | string | Long);
  'vectorCount'?: (number | string | Long);
  'index'?: (IndexProgress | null);
  'lastVersion'?: (number | string);
  'lastMark'?: (number | string);
}

export interface ShardTransfer__Output {
  'stage': (string);
  'term': (number);
  'reshard': (string);
  'since': (number);
  'lastChange': (number);
  'externalIds': (Buffer);
  'upTo': (number);
  'vectorCount': (number);
  'index': (IndexProgress__Output | null);
  'lastVersion': (number);
  'lastMark': (number);
}

export interface ShippedPosition {
  'sequence'?: (number | string | Long);
  'epoch'?: (number | string | Long);
  'at'?: (number | string);
}

export interface ShippedPosition__Output {
  'sequence': (number);
  'epoch': (number);
  'at': (number);
}

export interface Status {
}

export interface Status__Output {
}

export interface Transfer {
  'after'?: (number | string | Long);
  'limit'?: (number);
  'writesPerSecond'?: (number);
  '_writesPerSecond'?: "writesPerSecond";
}

export interface Transfer__Output {
  'after': (number);
  'limit': (number);
  'writesPerSecond'?: (number);
  '_writesPerSecond'?: "writesPerSecond";
}
