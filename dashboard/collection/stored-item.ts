import { call, path } from '../api/client';
import type { Metadata, StoredItem } from '../api/shapes';
import { tell } from '../state/toasts';

/** Not by the path that has the id in it: a browser takes the ids "." and ".." there for steps up. */
export async function fetchItem(collection: string, id: string, signal?: AbortSignal): Promise<StoredItem> {
  const { vectors } = await call<'post_collections_name_vectors_fetch'>(
    'POST',
    path('/v1/collections/', collection, '/vectors/fetch'),
    { body: { ids: [id], include_vectors: true }, signal },
  );
  const [item] = vectors;
  if (item === undefined) throw new Error(`There is no item ${id} in ${collection}.`);
  return item;
}

/**
 * Gives an item these metadata in the place of what it has. `isUnchanged`: only if nobody has changed it since it was
 * fetched; otherwise it throws what the service says.
 */
export async function storeMetadata(
  collection: string,
  item: StoredItem,
  metadata: Metadata,
  isUnchanged: boolean,
): Promise<void> {
  // A browser takes these ids in a path for steps up. A cluster that is being upgraded has no versions and knows no
  // patches yet.
  if (item.external_id === '.' || item.external_id === '..' || item.version === undefined)
    return storeItem(collection, item, metadata);
  const body = { metadata, metadata_mode: 'replace' as const, ...(isUnchanged ? { if_version: item.version } : {}) };
  await call<'patch_collections_name_vectors_id'>(
    'PATCH',
    path('/v1/collections/', collection, '/vectors/', item.external_id),
    { body },
  );
}

/** Stores an item with other metadata. Its text is not embedded again: the vector goes along. */
async function storeItem(collection: string, item: StoredItem, metadata: Metadata): Promise<void> {
  const body = {
    external_id: item.external_id,
    vector: item.vector,
    metadata,
    ...(item.text === null ? {} : { text: item.text }),
  };
  await call<'post_collections_name_upsert'>('POST', path('/v1/collections/', collection, '/upsert'), { body });
}

/** What one fetch takes, and so what one undo puts back. */
export const UNDO_MAX = 100;

/** Deletes up to UNDO_MAX items and offers to put them back as they were. Throws what the service says. */
export async function deleteWithUndo(collection: string, ids: string[], onChange: () => void): Promise<void> {
  const { vectors: items } = await call<'post_collections_name_vectors_fetch'>(
    'POST',
    path('/v1/collections/', collection, '/vectors/fetch'),
    { body: { ids, include_vectors: true } },
  );
  const { deleted_count: count } = await call<'post_collections_name_delete_batch'>(
    'POST',
    path('/v1/collections/', collection, '/delete_batch'),
    { body: { external_ids: ids } },
  );
  const undo = async (): Promise<void> => {
    const back = items.map(({ text, ...rest }) => (text === null ? rest : { ...rest, text }));
    await call<'post_collections_name_bulk_upsert'>('POST', path('/v1/collections/', collection, '/bulk_upsert'), {
      body: { items: back },
    });
    onChange();
    tell(items.length === 1 ? `${items[0]?.external_id} is back.` : `${items.length} items are back.`);
  };
  tell(count === 1 ? `Deleted ${ids[0]}.` : `Deleted ${count} items.`, {
    action: {
      label: 'Undo',
      run: () => void undo().catch((error: unknown) => tell(`Not put back: ${String(error)}`, { isBad: true })),
    },
  });
  onChange();
}
