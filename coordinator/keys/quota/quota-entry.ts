import { QuiverError } from '../../../shared/errors/quiver-error';
import type { StoreEntry } from '../../../shared/cluster-store/cluster-store';
import type { KeyQuota, Written } from './key-quota';

/**
 * What coordinators have taken of the quotas of keys, one entry for each key that ever had one:
 *
 *     /q/key-quotas/<id>  {period, items, bytes}
 *
 * A coordinator takes more than a write needs, by a transaction that is guarded by the entry, and uses it up in memory. So
 * the quota is never exceeded, whoever writes at once and whoever dies, and most writes cost no call.
 */
export const KEY_QUOTAS_PREFIX = '/q/key-quotas/';

/** Of what is left beyond what a write needs, the share that is taken with it: little enough that others are not kept out. */
const SHARE = 1 / 32;

/** What was taken in a period. */
export interface TakenQuota extends Written {
  period: string;
}

export function keyQuotaPath(id: number): string {
  return `${KEY_QUOTAS_PREFIX}${id}`;
}

export function takenToValue({ period, items, bytes }: TakenQuota): string {
  return JSON.stringify({ period, items, bytes });
}

/** Errors: storage_failed. */
export function takenFromEntry({ key, value }: Pick<StoreEntry, 'key' | 'value'>): TakenQuota {
  try {
    const { period, items, bytes } = JSON.parse(value) as TakenQuota;
    if (typeof period === 'string' && Number.isSafeInteger(items) && Number.isSafeInteger(bytes)) return { period, items, bytes };
  } catch (cause) {
    throw new QuiverError('storage_failed', `the stored count at ${key} is unreadable`, { cause });
  }
  throw new QuiverError('storage_failed', `the stored count at ${key} is unreadable`);
}

/** Whether `one` is a later period than `other`, of the same kind. */
export function isLater(one: string, other: string): boolean {
  return one.length === other.length && one > other;
}

/**
 * What to take when `needed` is to be written: it and a share of the rest, or all that is left if that is less. `taken`: by
 * all, without what the caller holds and gives back with this.
 */
export function grantOf(quota: KeyQuota, taken: Written, needed: Written): Written {
  const part = (most: number | null, before: number, need: number): number => {
    if (most === null) return 0;
    const left = Math.max(0, most - before);
    return need >= left ? left : need + Math.floor((left - need) * SHARE);
  };
  return { items: part(quota.items, taken.items, needed.items), bytes: part(quota.bytes, taken.bytes, needed.bytes) };
}
