/**
 * Collections that were deleted for good, by uid. The value is the time of the deletion, ISO 8601. Nodes remove data
 * only because of an entry here, never because something is missing: restoring the cluster store from an old backup
 * must not cost anybody's data. The controller removes entries that are a week old.
 */
export const TOMBSTONES_PREFIX = '/q/dropped/';

export function tombstonePath(collectionUid: string): string {
  return TOMBSTONES_PREFIX + collectionUid;
}
