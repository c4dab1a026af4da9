import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { StoreEntry } from '../../../../shared/cluster-store/cluster-store';
import { type KeyQuota, type KeyWriter, keyIdOf, periodAt, QUOTA_PERIODS, type Written } from './key-quota';

/**
 * What coordinators have taken of the quotas of keys and of the subjects of tokens, one entry for each that ever had
 * one:
 *
 *     /q/key-quotas/<id>                           {period, items, bytes}
 *     /q/token-quotas/<identity>/<kind of period>  the same
 *
 * A coordinator takes more than a write needs, by a transaction that is guarded by the entry, and uses it up in memory.
 * So the quota is never exceeded, whoever writes at once and whoever dies, and most writes cost no call.
 */
export const KEY_QUOTAS_PREFIX = '/q/key-quotas/';
export const TOKEN_QUOTAS_PREFIX = '/q/token-quotas/';

/**
 * Of what is left beyond what a write needs, the share that is taken with it: little enough that others are not kept
 * out.
 */
const SHARE = 1 / 32;

const DAY_MS = 86_400_000;

/** What was taken in a period. */
export interface TakenQuota extends Written {
  period: string;
}

export function keyQuotaPath(id: number): string {
  return `${KEY_QUOTAS_PREFIX}${id}`;
}

/**
 * Tokens of one subject may come with quotas of different periods, which count side by side: one would end the count of
 * the other.
 */
export function quotaPath({ identity, quota: { period } }: Pick<KeyWriter, 'identity' | 'quota'>): string {
  const id = keyIdOf(identity);
  return id === null ? `${TOKEN_QUOTAS_PREFIX}${identity}/${period}` : keyQuotaPath(id);
}

export function takenToValue({ period, items, bytes }: TakenQuota): string {
  return JSON.stringify({ period, items, bytes });
}

/** Errors: storage_failed. */
export function takenFromEntry({ key, value }: Pick<StoreEntry, 'key' | 'value'>): TakenQuota {
  try {
    const { period, items, bytes } = JSON.parse(value) as TakenQuota;
    if (typeof period === 'string' && Number.isSafeInteger(items) && Number.isSafeInteger(bytes))
      return { period, items, bytes };
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
 * Whether an entry counts nothing any more, for nobody: its period is over since a day, by any clock. Subjects of
 * tokens come and go, and nobody says that one is gone.
 */
export function isOver({ period }: Pick<TakenQuota, 'period'>, wallMs: number): boolean {
  return QUOTA_PERIODS.some((kind) => kind !== 'total' && isLater(periodAt(kind, wallMs - DAY_MS), period));
}

/** What is left when `taken` is gone. Of what is not bounded, nothing is counted. */
export function roomBeside(quota: KeyQuota, taken: Written): Written {
  const part = (most: number | null, before: number): number => (most === null ? 0 : Math.max(0, most - before));
  return { items: part(quota.items, taken.items), bytes: part(quota.bytes, taken.bytes) };
}

/**
 * What to take when `needed` is to be written: it and a share of the rest, or all that is left if that is less.
 * `taken`: by all, without what the caller holds and gives back with this.
 */
export function grantOf(quota: KeyQuota, taken: Written, needed: Written): Written {
  const part = (most: number | null, before: number, need: number): number => {
    if (most === null) return 0;
    const left = Math.max(0, most - before);
    return need >= left ? left : need + Math.floor((left - need) * SHARE);
  };
  return { items: part(quota.items, taken.items, needed.items), bytes: part(quota.bytes, taken.bytes, needed.bytes) };
}
