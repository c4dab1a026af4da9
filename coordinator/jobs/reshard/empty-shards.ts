import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardTransfer } from '../../../shared/contract/shard/shard-read';

/** Errors: conflict when one of these shards of a collection, which a backup is to take the place of, holds an item. */
export function mustHoldNothing(collection: string, shards: readonly Pick<ShardTransfer, 'vectorCount'>[]): void {
  const items = shards.reduce((sum, { vectorCount }) => sum + vectorCount, 0);
  if (items > 0)
    throw new QuiverError(
      'conflict',
      `collection "${collection}" is not empty any more: it holds ${items} item${items === 1 ? '' : 's'}, which stay as they are, so nothing was restored into it`,
    );
}

/** Errors: conflict when a collection's texts were embedded with another model than those of the backup meanwhile. */
export function mustHaveModel(collection: { name: string; embeddingModel: string | null }, model: string | null): void {
  const { name, embeddingModel } = collection;
  if (embeddingModel !== null && model !== null && embeddingModel !== model)
    throw new QuiverError(
      'conflict',
      `collection "${name}" has the embedding model ${embeddingModel} by now, and the backup has ${model}: nothing was restored into it`,
    );
}
