import { shardKey } from '../../../shared/cluster-store/entries/members';
import type { ShardPublications } from '../../../shared/contract/shard/inline-search';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { DirectoryPart } from '../directory/directory-view';
import type { ShardIndexes } from './shard-indexes';

/**
 * What is published of a shard, in this order: `opened`, any number of `part`, `closed`; then perhaps `opened` again,
 * for other memory. `key` is its shardKey.
 */
export type ShardMessage =
  | {
      type: 'opened';
      key: string;
      /** Of the directory's ChangeCounter. */
      changes: SharedArrayBuffer;
      /** The number of the vector index (VectorIndex.share). */
      vectors: number;
      /** The number of the filter index (FilterIndex.share). */
      filters: number;
      parts: DirectoryPart[];
    }
  | { type: 'part'; key: string; part: DirectoryPart }
  | { type: 'closed'; key: string };

type Publish = (message: ShardMessage) => void;

/** Publishes the open shards of a process to its other threads, which search them through ShardViews. */
export class ShardPublisher implements ShardPublications {
  private readonly followers = new Set<Publish>();
  private readonly shards = new Map<string, { indexes: ShardIndexes; vectors: number }>();

  follow(publish: Publish): () => void {
    for (const key of this.shards.keys()) publish(this.opened(key));
    // A function of its own, so that the same one given twice is two followers.
    const follower: Publish = (message) => publish(message);
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }

  /**
   * Publishes an open shard until what it answers is called: at once when the shard closes, or when its indexes can't
   * be trusted any more. Threads that have searched it answer nothing from then on, before the message reaches them.
   */
  publish(id: ShardId, indexes: ShardIndexes): () => void {
    const { directory } = indexes;
    const vectors = indexes.vectors.share();
    if (vectors === null) return () => undefined;
    const key = shardKey(id);
    const shard = { indexes, vectors };
    this.shards.set(key, shard);
    directory.onPart = (part) => this.announce({ type: 'part', key, part });
    this.announce(this.opened(key));
    return () => {
      if (this.shards.get(key) !== shard) return;
      directory.changes.close();
      directory.onPart = () => undefined;
      this.shards.delete(key);
      this.announce({ type: 'closed', key });
    };
  }

  private opened(key: string): ShardMessage {
    const { indexes, vectors } = this.shards.get(key) as { indexes: ShardIndexes; vectors: number };
    const { directory } = indexes;
    return {
      type: 'opened',
      key,
      changes: directory.changes.memory,
      vectors,
      filters: indexes.filters.share(),
      parts: directory.parts(),
    };
  }

  private announce(message: ShardMessage): void {
    for (const follower of this.followers) follower(message);
  }
}
