import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { StorageQuota } from '../service';

/** What a collection holds, or a write adds. */
export interface StorageUse {
  items: number;
  bytes: number;
}

/** Why a write is beyond the quota; null: it is not. `isPart`: the call has written before. */
export function excessOf(
  name: string,
  quota: StorageQuota,
  used: StorageUse,
  added: StorageUse,
  isPart = false,
): QuiverError | null {
  const after = `${isPart ? 'the others are as they were' : 'nothing was written'}: delete some, or have an admin raise it`;
  if (quota.items !== null && added.items > 0 && used.items + added.items > quota.items) {
    return new QuiverError(
      'limit_exceeded',
      `collection "${name}" holds ${used.items} items, and ${added.items} more are beyond its quota of ${quota.items} (quota.items); ${after}`,
    );
  }
  if (quota.bytes !== null && added.bytes > 0 && used.bytes + added.bytes > quota.bytes) {
    return new QuiverError(
      'limit_exceeded',
      `collection "${name}" takes ${used.bytes} bytes of disk, and ${added.bytes} more are beyond its quota of ${quota.bytes} (quota.bytes); ${after}`,
    );
  }
  return null;
}
