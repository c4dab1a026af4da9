import type { WriteResult } from '../../../shared/contract/shard/shard-client';
import type { WriteSource } from '../../../shared/contract/writes/write-source';
import type { AppliedEntry, SettledWrite } from './replica-state';
import { LIMITS } from './timings';

/** A write that is in the log; `result` is null until it is applied. */
export interface KnownWrite {
  sequence: number;
  result: WriteResult | null;
}

interface Session {
  settledBelow: number;
  writes: Map<number, KnownWrite>;
}

/** What a replica knows at its start about a log entry that is not applied yet. */
export interface UnappliedWrite {
  sequence: number;
  /** null: a barrier. */
  source: WriteSource | null;
}

/**
 * Which writes are in the log, by the names that their sessions gave them, so that a write that is sent again is not
 * appended again. Followers keep it, too, so that each can lead at once.
 */
export class WriteLedger {
  /** In the order of their latest write. */
  private readonly sessions = new Map<string, Session>();
  /** Sources of entries that are not applied yet, by sequence, ascending. */
  private readonly unapplied = new Map<number, WriteSource>();

  constructor(known: { settled: SettledWrite[]; unapplied: UnappliedWrite[] }) {
    this.reset(known);
  }

  reset(known: { settled: SettledWrite[]; unapplied: UnappliedWrite[] }): void {
    this.sessions.clear();
    this.unapplied.clear();
    for (const write of known.settled) {
      this.session(write.session).writes.set(write.requestNumber, { sequence: write.sequence, result: write.result });
    }
    for (const { sequence, source } of known.unapplied) if (source !== null) this.appended(sequence, source);
  }

  find(source: WriteSource): KnownWrite | undefined {
    return this.sessions.get(source.session)?.writes.get(source.requestNumber);
  }

  /** Whether the session has said that this write must not be applied any more. */
  isGivenUp(source: WriteSource): boolean {
    const session = this.sessions.get(source.session);
    return session !== undefined && source.requestNumber < session.settledBelow;
  }

  appended(sequence: number, source: WriteSource): void {
    const session = this.session(source.session);
    session.writes.set(source.requestNumber, { sequence, result: null });
    this.unapplied.set(sequence, source);
    if (source.settledBelow > session.settledBelow) {
      session.settledBelow = source.settledBelow;
      for (const [number, write] of session.writes)
        if (number < session.settledBelow && write.result !== null) session.writes.delete(number);
    }
  }

  /** Entries after `sequence` are gone; what their sessions said about finished writes stays true. */
  truncateAfter(sequence: number): void {
    for (const [at, source] of this.unapplied) {
      if (at <= sequence) continue;
      this.unapplied.delete(at);
      const writes = this.sessions.get(source.session)?.writes;
      if (writes?.get(source.requestNumber)?.sequence === at) writes.delete(source.requestNumber);
    }
  }

  /** Records what became of an entry and answers it; null if the write was given up and not applied. */
  applied(entry: AppliedEntry): WriteResult | null {
    const source = this.unapplied.get(entry.sequence);
    if (source === undefined) return entry.result;
    this.unapplied.delete(entry.sequence);
    const session = this.session(source.session);
    const write = session.writes.get(source.requestNumber);
    const result = entry.result ?? (entry.duplicateOf === undefined ? null : (write?.result ?? null));
    if (source.requestNumber < session.settledBelow || result === null) session.writes.delete(source.requestNumber);
    else session.writes.set(source.requestNumber, { sequence: entry.duplicateOf ?? entry.sequence, result });
    return result;
  }

  private session(name: string): Session {
    const session = this.sessions.get(name) ?? { settledBelow: 0, writes: new Map<number, KnownWrite>() };
    this.sessions.delete(name);
    this.sessions.set(name, session);
    if (this.sessions.size > LIMITS.sessionsMax) this.forgetOldest();
    return session;
  }

  private forgetOldest(): void {
    for (const [name, session] of this.sessions) {
      if ([...session.writes.values()].some((write) => write.result === null)) continue;
      this.sessions.delete(name);
      return;
    }
  }
}
