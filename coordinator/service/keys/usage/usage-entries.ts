import type { ClusterStore } from '../../../../shared/cluster-store/cluster-store';

/**
 * The layout of usage in the cluster store. Every coordinator writes only entries of its own, so writes need no guard;
 * readers add them up.
 *
 *     /q/usage/totals/<subject>/<coordinator>       {requests, byEndpoint, lastRequestMs}
 *     /q/usage/hours/<subject>/<coordinator>/<day>  requests in each of the 24 hours of a UTC day
 */
const TOTALS_PREFIX = '/q/usage/totals/';
const HOURS_PREFIX = '/q/usage/hours/';
/** Changes in one transaction; etcd's default limit is 128. */
export const CHANGES_PER_TRANSACTION = 100;

/** The subject of a count: a key's id, or all keys together, which includes deleted keys. */
export type UsageSubject = number | 'all';

export interface UsageTotals {
  requests: number;
  /** Method and route template → requests. */
  byEndpoint: Record<string, number>;
  /** Wall time. */
  lastRequestMs: number;
}

export const totalsPrefix = (subject: UsageSubject): string => `${TOTALS_PREFIX}${subject}/`;
export const hoursPrefix = (subject: UsageSubject): string => `${HOURS_PREFIX}${subject}/`;

export function totalsPath(subject: UsageSubject, coordinatorId: string): string {
  return totalsPrefix(subject) + encodeURIComponent(coordinatorId);
}

/** `day`: days since 1970-01-01, UTC. */
export function hoursPath(subject: UsageSubject, coordinatorId: string, day: number): string {
  return `${hoursPrefix(subject)}${encodeURIComponent(coordinatorId)}/${day}`;
}

export function coordinatorOf(path: string): string {
  return decodeURIComponent(path.split('/')[5]);
}

export function dayOf(hoursEntryPath: string): number {
  return Number(hoursEntryPath.split('/')[6]);
}

/** Nothing where the text is none: a damaged count is counted again, and takes no other along. */
export function totalsFromValue(value: string): UsageTotals {
  const found = parsed(value) as Partial<UsageTotals> | null;
  const { requests = 0, byEndpoint = {}, lastRequestMs = 0 } = found ?? {};
  return { requests, byEndpoint, lastRequestMs };
}

/** The same. */
export function hoursFromValue(value: string): number[] {
  const found = parsed(value);
  return Array.isArray(found) ? (found as number[]) : [];
}

function parsed(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

/** When each key was last used, over all coordinators, by key id; wall time. */
export async function readLastRequests(store: ClusterStore, onlyKey?: number): Promise<Map<number, number>> {
  const { entries } = await store.list(onlyKey === undefined ? TOTALS_PREFIX : totalsPrefix(onlyKey));
  const latest = new Map<number, number>();
  for (const entry of entries) {
    const id = Number(entry.key.split('/')[4]);
    if (Number.isNaN(id)) continue;
    latest.set(id, Math.max(latest.get(id) ?? 0, totalsFromValue(entry.value).lastRequestMs));
  }
  return latest;
}

/** Deletes what all coordinators counted about a subject. */
export async function removeUsage(store: ClusterStore, subject: UsageSubject): Promise<void> {
  const lists = await Promise.all([store.list(totalsPrefix(subject)), store.list(hoursPrefix(subject))]);
  const keys = lists.flatMap((list) => list.entries.map((entry) => entry.key));
  for (let first = 0; first < keys.length; first += CHANGES_PER_TRANSACTION) {
    await store.transact(
      [],
      keys.slice(first, first + CHANGES_PER_TRANSACTION).map((key) => ({ type: 'delete', key })),
    );
  }
}
