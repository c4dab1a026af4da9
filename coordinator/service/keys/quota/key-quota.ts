import { QuiverError } from '../../../../shared/base/errors/quiver-error';

/** For how long a quota counts: a day or a month of UTC, or from when it was set on. */
export const QUOTA_PERIODS = ['day', 'month', 'total'] as const;
export type QuotaPeriod = (typeof QUOTA_PERIODS)[number];

/** The most that a key may store in a period; null: as much as there is room for. One of the two is a number. */
export interface KeyQuota {
  items: number | null;
  bytes: number | null;
  period: QuotaPeriod;
}

/**
 * What a write stores: each of its items, whether it is new or replaces another, and about as many bytes as it sent of
 * them.
 */
export interface Written {
  items: number;
  bytes: number;
}

export const NOTHING_WRITTEN: Readonly<Written> = { items: 0, bytes: 0 };

/** Whose quota a write counts in: a key, or the subject of a bearer token. */
export interface KeyWriter {
  /** `key:7`, `token:…` (caller.ts). */
  identity: string;
  quota: KeyQuota;
  /** Counts in place of the service's own gate: of an upload, which is whole or nothing. */
  admission?: Pick<KeyQuotaAdmission, 'take' | 'settle' | 'noteRefusal'>;
}

/** Of a charge that is no usual write, in milliseconds. */
export interface ChargeTimes {
  /** How long it waits for others that are under way, if their end may make room for it. */
  waitMs?: number;
  /** After so long without {@link KeyQuotaAdmission.settle}, it counts as a whole. */
  lostMs?: number;
}

/** Lets writes of keys with a quota through. */
export interface KeyQuotaAdmission {
  /**
   * Takes what a write may store, and answers a number for {@link settle}. Errors: limit_exceeded for a write that is
   * beyond the quota; unavailable, also when that could not be decided in time; overloaded, with a `waitMs` of 0 alone:
   * it depends on others that are under way.
   */
  take(writer: Pick<KeyWriter, 'identity' | 'quota'>, written: Written, times?: ChargeTimes): Promise<number>;
  /** Says what a write has stored; null when that is not known: then it counts as a whole. */
  settle(charge: number, written: Written | null): void;
  /** What was stored since `sinceMs` (wall time), and settled, was taken back. */
  giveBack(writer: Pick<KeyWriter, 'identity' | 'quota'>, written: Written, sinceMs: number): void;
  /** A write was refused because of its key's quota. */
  noteRefusal(): void;
}

/** What a key has stored in the present period. */
export interface KeyQuotaUse {
  /** null: it is not bounded, and not counted. */
  items: number | null;
  bytes: number | null;
  period: QuotaPeriod;
  /** ISO 8601; null: it never counts again. */
  resetsAt: string | null;
}

const KEY_IDENTITY = 'key:';

/** The identity of a key. */
export function keyIdentity(id: number): string {
  return `${KEY_IDENTITY}${id}`;
}

/** The key of an identity; null: it is that of a subject. */
export function keyIdOf(identity: string): number | null {
  return identity.startsWith(KEY_IDENTITY) ? Number(identity.slice(KEY_IDENTITY.length)) : null;
}

/** A writer in the messages of errors. */
export function writerName({ identity }: Pick<KeyWriter, 'identity'>): string {
  const id = keyIdOf(identity);
  return id === null ? 'the subject of this token' : `API key ${id}`;
}

/** The name of the period that a time is in. Of two of one kind, the later one's is the greater text. */
export function periodAt(period: QuotaPeriod, wallMs: number): string {
  if (period === 'total') return period;
  return new Date(wallMs).toISOString().slice(0, period === 'day' ? 'yyyy-mm-dd'.length : 'yyyy-mm'.length);
}

/** When it counts again; null: never. */
export function resetOf(period: QuotaPeriod, wallMs: number): string | null {
  if (period === 'total') return null;
  const now = new Date(wallMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  return new Date(period === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1)).toISOString();
}

/** Why a write is beyond what a quota has left; null: it is not. */
export function keyExcessOf(
  { identity, quota }: Pick<KeyWriter, 'identity' | 'quota'>,
  left: Written,
  written: Written,
  wallMs: number,
): QuiverError | null {
  for (const part of ['items', 'bytes'] as const) {
    const most = quota[part];
    if (most === null || written[part] <= left[part]) continue;
    const stored = Math.max(0, most - left[part]);
    const reset = resetOf(quota.period, wallMs);
    const span = quota.period === 'total' ? '' : ` this ${quota.period} (UTC)`;
    const after = reset === null ? 'have an admin raise it' : `wait until ${reset}, or have an admin raise it`;
    const source =
      keyIdOf(identity) === null ? `JWT_QUOTA_${part.toUpperCase()} or JWT_LIMITS_CLAIM` : `quota.${part} of the key`;
    const message = `${writerName({ identity })} has stored ${stored} ${part}${span}, and ${written[part]} more are beyond its quota of ${most} (${source}); they were not written: ${after}`;
    return new QuiverError('limit_exceeded', message);
  }
  return null;
}
