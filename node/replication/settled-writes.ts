import type { WriteOutcome, WriteResult } from '../../shared/contract/shard/shard-client';
import type { WriteSource } from '../../shared/contract/writes/write-source';
import type { KeyValueChange, KeyValueEntry } from '../engine/kv/key-value-store';
import type { SettledWrite } from './core/replica-state';
import { sessionKey, sessionOfKey } from './log/log-keys';

/**
 * Sessions remembered; the one that has been quiet longest is dropped first. If a write of it is sent again after that,
 * it can be applied twice. Each thread of a coordinator has a session, and so has each of its starts:
 * docs/operations.md says how many may write at the same time. All replicas must drop the same ones, so another number
 * needs a feature that all of them know (member-version.ts).
 */
const SESSIONS_MAX = 256;
/**
 * Writes remembered for a session that never says what it has settled; coordinators have at most some hundreds under
 * way.
 */
const WRITES_MAX = 4096;

const LETTER_OF: Record<WriteOutcome, string> = {
  inserted: 'i',
  updated: 'u',
  deleted: 'd',
  absent: 'a',
  refused: 'r',
  outdated: 'o',
  conflict: 'c',
  withheld: 'w',
  excess: 'e',
};
const OUTCOME_OF: Record<string, WriteOutcome> = {
  i: 'inserted',
  u: 'updated',
  d: 'deleted',
  a: 'absent',
  r: 'refused',
  o: 'outdated',
  c: 'conflict',
  w: 'withheld',
  e: 'excess',
};

interface Known {
  sequence: number;
  /** One letter per outcome. */
  outcomes: string;
  firstVersion: number;
  present: number[];
}

/** A write as it is stored. The versions are left out where there are none: members of before them do so, too. */
type StoredWrite = [
  requestNumber: number,
  sequence: number,
  outcomes: string,
  firstVersion?: number,
  present?: number[],
];

interface Session {
  settledBelow: number;
  /** Sequence of its latest write. */
  last: number;
  writes: Map<number, Known>;
}

/**
 * Which writes the records hold, by the names that their sessions gave them, so that a write that is in the log twice
 * is applied once. It depends only on the log and is stored with the records, so it is the same on every replica and
 * after a restart.
 */
export class SettledWrites {
  private readonly sessions = new Map<string, Session>();
  /** Sessions that were changed or dropped since the last call of `changes`. */
  private readonly touched = new Set<string>();

  /** From the entries of SESSIONS_RANGE. */
  static load(entries: KeyValueEntry[]): SettledWrites {
    const settled = new SettledWrites();
    for (const { key, value } of entries) {
      const json = JSON.parse(value.toString()) as { below: number; last: number; writes: StoredWrite[] };
      const writes = new Map(
        json.writes.map(([requestNumber, sequence, outcomes, firstVersion = 0, present = []]) => [
          requestNumber,
          { sequence, outcomes, firstVersion, present },
        ]),
      );
      settled.sessions.set(sessionOfKey(key), { settledBelow: json.below, last: json.last, writes });
    }
    return settled;
  }

  /** Records an entry that is about to be applied. Answers whether its write is new, or which entry it repeats. */
  begin(
    source: WriteSource,
    sequence: number,
  ): { type: 'new' } | { type: 'givenUp' } | { type: 'repeats'; sequence: number } {
    const session = this.sessions.get(source.session) ?? { settledBelow: 0, last: 0, writes: new Map<number, Known>() };
    this.sessions.set(source.session, session);
    this.touched.add(source.session);
    const known = session.writes.get(source.requestNumber);
    const isGivenUp = source.requestNumber < session.settledBelow;
    session.last = sequence;
    if (source.settledBelow > session.settledBelow) {
      session.settledBelow = source.settledBelow;
      for (const number of session.writes.keys()) if (number < source.settledBelow) session.writes.delete(number);
    }
    if (known !== undefined) return { type: 'repeats', sequence: known.sequence };
    if (isGivenUp) return { type: 'givenUp' };
    session.writes.set(source.requestNumber, { sequence, outcomes: '', firstVersion: 0, present: [] });
    this.bound(session);
    return { type: 'new' };
  }

  finish(source: WriteSource, { outcomes, firstVersion, present }: WriteResult): void {
    const known = this.sessions.get(source.session)?.writes.get(source.requestNumber);
    if (known === undefined) return;
    known.outcomes = outcomes.map((outcome) => LETTER_OF[outcome]).join('');
    known.firstVersion = firstVersion;
    known.present = present;
  }

  /** What has to be stored for everything since the last call. */
  changes(): KeyValueChange[] {
    const changes: KeyValueChange[] = [];
    for (const name of this.touched) {
      const session = this.sessions.get(name);
      if (session === undefined) changes.push({ type: 'delete', key: sessionKey(name) });
      else changes.push({ type: 'put', key: sessionKey(name), value: sessionToBytes(session) });
    }
    this.touched.clear();
    return changes;
  }

  all(): SettledWrite[] {
    return [...this.sessions].flatMap(([session, { writes }]) =>
      [...writes].map(([requestNumber, { sequence, outcomes, ...versions }]) => ({
        session,
        requestNumber,
        sequence,
        result: { outcomes: [...outcomes].map((letter) => OUTCOME_OF[letter]), ...versions },
      })),
    );
  }

  /** Called for each entry, not for each batch: batches differ between replicas, but what is dropped must not. */
  private bound(session: Session): void {
    if (session.writes.size > WRITES_MAX) {
      const lowest = [...session.writes.keys()].reduce((least, number) => Math.min(least, number));
      session.writes.delete(lowest);
      // If it is sent again, it must not be taken for a new one.
      session.settledBelow = Math.max(session.settledBelow, lowest + 1);
    }
    if (this.sessions.size > SESSIONS_MAX) {
      const [oldest] = [...this.sessions].reduce((least, one) => (one[1].last < least[1].last ? one : least));
      this.sessions.delete(oldest);
      this.touched.add(oldest);
    }
  }
}

function sessionToBytes({ settledBelow, last, writes }: Session): Buffer {
  return Buffer.from(JSON.stringify({ below: settledBelow, last, writes: [...writes].map(storedWrite) }));
}

function storedWrite([requestNumber, { sequence, outcomes, firstVersion, present }]: [number, Known]): StoredWrite {
  if (firstVersion === 0) return [requestNumber, sequence, outcomes];
  return present.length === 0
    ? [requestNumber, sequence, outcomes, firstVersion]
    : [requestNumber, sequence, outcomes, firstVersion, present];
}
