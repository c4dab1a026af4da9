/**
 * How far the purge of a replica is (node/engine/shard/removal/shard-purge.ts). `none`: none was begun since the shard
 * was opened.
 */
export interface ReplicaPurge {
  /** The node that holds the replica; '' where that goes without saying. */
  node: string;
  state: 'none' | 'running' | 'done' | 'failed' | 'unknown';
  /** What it is at, while it runs, or failed at. */
  step: string;
  /** Of all files of the replica, when it began and when it was done. */
  bytesBefore: number;
  bytesAfter: number;
  /**
   * Writes that it waits for, or failed to wait for: they are kept until they are in the backup target. Absent from an
   * earlier version.
   */
  unshipped?: number;
  /** '' unless it failed. */
  error: string;
}

const STATES: readonly string[] = ['none', 'running', 'done', 'failed', 'unknown'];

export function purgesToText(purges: readonly ReplicaPurge[]): string {
  return JSON.stringify(purges);
}

/** null for text that is none. */
export function purgesFromText(text: string): ReplicaPurge[] | null {
  try {
    const purges = JSON.parse(text) as ReplicaPurge[];
    return Array.isArray(purges) && purges.every(({ state }) => STATES.includes(state)) ? purges : null;
  } catch {
    return null;
  }
}
