import type { LogEntry } from '../core/replica-state';

/**
 * Room for what a follower that keeps up has not received yet, including some large bulks of vectors. For a follower
 * further behind, the disk is read.
 */
const CACHE_BYTES_MAX = 16 * 1024 * 1024;
/** About how many bytes an entry takes besides its payload. */
const ENTRY_OVERHEAD_BYTES = 200;

/** The newest entries of a log, so that sending them to followers does not wait for the storage. */
export class EntryCache {
  /** Consecutive, oldest first; dropped from the front in batches. */
  private entries: LogEntry[] = [];
  private bytes = 0;

  /** Applies a change of the log. */
  append(change: { truncateAfter?: number; entries?: LogEntry[] }): void {
    if (change.truncateAfter !== undefined) {
      while (this.entries.length > 0 && this.entries[this.entries.length - 1].sequence > change.truncateAfter)
        this.forget(this.entries.pop());
    }
    for (const entry of change.entries ?? []) {
      const last = this.entries[this.entries.length - 1];
      if (last !== undefined && last.sequence + 1 !== entry.sequence) this.clear();
      this.entries.push(entry);
      this.bytes += entryBytes(entry);
    }
    let surplus = 0;
    while (this.bytes > CACHE_BYTES_MAX && surplus < this.entries.length - 1) this.forget(this.entries[surplus++]);
    if (surplus > 0) this.entries.splice(0, surplus);
  }

  /** Entries from `from` up to `to`, at most about `maxBytes` but at least one; null if `from` is not cached. */
  read(from: number, to: number, maxBytes: number): LogEntry[] | null {
    const first = this.entries[0]?.sequence;
    if (first === undefined || from < first || from > this.entries[this.entries.length - 1].sequence) return null;
    const found: LogEntry[] = [];
    let bytes = 0;
    for (let i = from - first; i < this.entries.length && this.entries[i].sequence <= to; i += 1) {
      bytes += entryBytes(this.entries[i]);
      if (found.length > 0 && bytes > maxBytes) break;
      found.push(this.entries[i]);
    }
    return found;
  }

  clear(): void {
    this.entries = [];
    this.bytes = 0;
  }

  private forget(entry: LogEntry | undefined): void {
    if (entry !== undefined) this.bytes -= entryBytes(entry);
  }
}

/** Bytes that an entry takes in memory and, approximately, in a message. */
export function entryBytes(entry: LogEntry): number {
  return ENTRY_OVERHEAD_BYTES + (entry.write?.payload.length ?? 0);
}
