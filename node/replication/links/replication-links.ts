import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { AppendAck, AppendMessage } from '../core/messages';
import type { SeldomPace } from '../core/pace';

/**
 * The connections between the replicas of a shard: messages to other nodes, in order as long as a stream lasts, and
 * lost when it breaks. Sending never waits and never fails. Implementations: streams of frames; in one process for
 * tests.
 */
export interface ReplicationLinks {
  /** `pace`: as in the effect `sendAppend`. */
  sendAppend(to: string, shard: ShardId, message: AppendMessage, pace?: SeldomPace): void;
  sendAck(to: string, shard: ShardId, ack: AppendAck): void;
}

/** Receives messages from other nodes. */
export interface ReplicationReceiver {
  /** `nowMs`: when it was received, by the process's monotonic clock, if others came with it. Absent: now. */
  onAppend(shard: ShardId, message: AppendMessage, nowMs?: number): void;
  onAck(shard: ShardId, ack: AppendAck, nowMs?: number): void;
  /** There is a new stream to this node: what was under way on the one before may be lost. */
  onStreamStarted(node: string): void;
}
