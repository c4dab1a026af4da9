import type { ShardId } from '../../shared/shard/shard-client';
import type { AppendAck, AppendMessage } from './core/messages';

/**
 * The way between the replicas of a shard: messages to other nodes, in order as long as a stream lasts, lost when it
 * breaks. Sending never waits and never fails. Implementations: gRPC streams; in one process for tests.
 */
export interface ReplicationLinks {
  sendAppend(to: string, shard: ShardId, message: AppendMessage): void;
  sendAck(to: string, shard: ShardId, ack: AppendAck): void;
}

/** Where messages from other nodes arrive. */
export interface ReplicationReceiver {
  onAppend(shard: ShardId, message: AppendMessage): void;
  onAck(shard: ShardId, ack: AppendAck): void;
  /** A stream to this node was set up anew: what was under way on the one before may be lost. */
  onStreamStarted(node: string): void;
}
