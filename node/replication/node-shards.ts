import type { CallOptions, ShardId, WriteResult } from '../../shared/contract/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf } from '../../shared/contract/shard/shard-read';
import type { WriteSource } from '../../shared/contract/writes/write-source';

/**
 * What a storage node answers to coordinators: the ShardClient's calls for the shards that this node leads. Every call
 * names the epoch by which its caller routed it. If the caller knows a later epoch than this node, the node waits
 * (within the deadline). Errors: as ShardClient, and `misrouted` when this node does not lead the shard or leads it
 * under a later epoch, and may not answer the read as a follower.
 */
export interface NodeShards {
  /**
   * `payload` holds the encoded operations (shared/contract/writes/operation-codec.ts); the log stores it unchanged.
   */
  write(id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteResult>;
  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: NodeCall,
  ): Promise<AnswerOf<Kind>>;
}

/**
 * The reads of a node's shards; an answer for which nothing had to be waited may come as it is, and an error be thrown.
 */
export interface ReadShards {
  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: NodeCall,
  ): AnswerOf<Kind> | Promise<AnswerOf<Kind>>;
}

export interface NodeCall extends CallOptions {
  /**
   * Epoch of the assignment by which the caller routed; ANY_REPLICA for a read that is meant for this node whoever
   * leads.
   */
  epoch: number;
}
