import { shardKey } from '../../../shared/cluster-store/entries/members';
import type { ShardPublications } from '../../../shared/contract/shard/inline-search';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { ReadPermit } from '../../replication/read-permit';
import { type ShardMessage, ShardPublisher } from '../../engine/shard/shard-publisher';

/**
 * What is published of a node's replicas: their shards, and by which permit each may be read. `key` is its shardKey.
 */
export type ReplicaMessage =
  | ShardMessage
  | { type: 'permitted'; key: string; permit: SharedArrayBuffer }
  | { type: 'unpermitted'; key: string };

/** Publishes the open replicas of a node to its other threads, which read them through ReplicaViews. */
export class ReplicaPublisher implements ShardPublications {
  readonly shards = new ShardPublisher();
  private readonly followers = new Set<(message: ReplicaMessage) => void>();
  private readonly permits = new Map<string, ReadPermit>();

  follow(publish: (message: ReplicaMessage) => void): () => void {
    for (const [key, permit] of this.permits) publish(permitted(key, permit));
    const follower = (message: ReplicaMessage): void => publish(message);
    this.followers.add(follower);
    const end = this.shards.follow(publish);
    return () => {
      this.followers.delete(follower);
      end();
    };
  }

  /**
   * Publishes the permit of a replica that is being opened, in the place of that of an earlier one. Answers what ends
   * that.
   */
  permit(id: ShardId, permit: ReadPermit): () => void {
    const key = shardKey(id);
    this.permits.set(key, permit);
    this.announce(permitted(key, permit));
    return () => {
      if (this.permits.get(key) !== permit) return;
      this.permits.delete(key);
      this.announce({ type: 'unpermitted', key });
    };
  }

  private announce(message: ReplicaMessage): void {
    for (const follower of this.followers) follower(message);
  }
}

function permitted(key: string, { memory }: ReadPermit): ReplicaMessage {
  return { type: 'permitted', key, permit: memory };
}
