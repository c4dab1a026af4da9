/**
 * Collections that were deleted for good, by uid; the value is when, ISO 8601. Nodes remove data only for an entry here,
 * never because something is missing: a cluster store that was restored from an old backup must not cost anybody's data.
 */
export const TOMBSTONES_PREFIX = '/q/dropped/';

export function tombstonePath(collectionUid: string): string {
  return TOMBSTONES_PREFIX + collectionUid;
}
