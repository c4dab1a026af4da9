import type { ShardAssignment } from '../../shared/cluster-store/entries/shard-assignment';
import type { LogEntry } from '../../node/replication/core/replica-state';
import type { AppendAck, AppendHeader } from '../../node/replication/core/messages';
import { isDue } from './simulated-storage';
import { Violation } from './violation';
import { writtenBy } from './written';

/** A client's operation as the client saw it. */
export interface Operation {
  type: 'read' | 'write';
  key: string;
  /** Written, or read: null for nothing. */
  value: number | null;
  invokedAt: number;
  /** Infinity: never answered. */
  answeredAt: number;
}

/** What beats abbreviate. */
type Said = AppendAck | AppendHeader;

/** Knows what was committed, and checks that everyone agrees on it and that clients saw one history. */
export class Oracle {
  /** What replicas gave to the network, as texts. */
  private readonly said = new Set<string>();
  readonly committed: LogEntry[] = [];
  readonly operations: Operation[] = [];

  /** A replica says this to another one. */
  says(from: string, to: string, what: Said): void {
    this.said.add(saying(from, to, what));
  }

  /** A replica takes this as said by another one, because a beat stands for it. */
  takes(from: string, to: string, what: Said): void {
    if (!this.said.has(saying(from, to, what)))
      throw new Violation(`${to} takes what ${from} has not said: ${JSON.stringify(what)}`);
  }

  /** A replica holds the entries up to `sequence` for committed; it was at `from` before. */
  commit(replica: string, entries: LogEntry[], from: number, sequence: number): void {
    for (let at = from + 1; at <= sequence; at++) {
      const entry = entries[at - 1];
      if (entry === undefined) throw new Violation(`${replica} commits ${at} without having it`);
      const known = this.committed[at - 1];
      if (known === undefined) this.committed[at - 1] = entry;
      else if (!isSameEntry(known, entry))
        throw new Violation(`commit divergence at ${at}: ${describe(known)} and, by ${replica}, ${describe(entry)}`);
    }
  }

  /** The new primary of the current epoch has everything that is committed. */
  leads(replica: string, epoch: number, entries: LogEntry[]): void {
    for (let at = this.committed.length; at > 0; at--) {
      const entry = entries[at - 1];
      if (entry === undefined || !isSameEntry(this.committed[at - 1], entry))
        throw new Violation(`leader completeness: ${replica} leads ${epoch} without ${at}`);
      // The rest is the same object all the way down in nearly every run; comparing the tail finds what was cut.
      if (entry === this.committed[at - 1] && this.committed.length - at > 64) return;
    }
  }

  /** What a controller makes of an assignment keeps those that have everything, and as many of them as must have it. */
  planned(before: ShardAssignment, after: ShardAssignment): void {
    const complete = (one: ShardAssignment): number =>
      new Set([...one.inSync, ...one.eligible].map(({ node }) => node)).size;
    const told = `${JSON.stringify(before)} is made ${JSON.stringify(after)}`;
    if ([...after.inSync, ...after.eligible].some(({ node }) => !after.replicas.includes(node)))
      throw new Violation(`plan: a complete replica outside the shard; ${told}`);
    if (after.epoch === before.epoch && before.replicas.some((id) => !after.replicas.includes(id)))
      throw new Violation(`plan: a replica is taken away within an epoch; ${told}`);
    if (complete(after) < Math.min(complete(before), after.minInSync))
      throw new Violation(`plan: too few complete replicas; ${told}`);
    if (
      before.inSync.length >= before.minInSync &&
      after.inSync.length < after.minInSync &&
      after.primary?.node === before.primary?.node
    )
      throw new Violation(`plan: too few in sync; ${told}`);
  }

  /**
   * Writes are in the log once and in the order of their times, none that was acknowledged is missing, and each key's
   * history is linearizable.
   */
  checkHistory(): void {
    const positions = new Map<string, number>();
    const settledBelow = new Map<string, number>();
    let latestMs = 0;
    for (const entry of this.committed) {
      // A restore to a time takes the entries up to a place.
      const at = entry.write?.at ?? latestMs;
      if (at < latestMs) throw new Violation(`time falls along the log, by ${latestMs - at} ms at ${entry.sequence}`);
      latestMs = at;
      if (!isDue(entry, settledBelow)) continue;
      const { key, value } = writtenBy(entry.write!.payload);
      const name = `${key}:${value}`;
      if (positions.has(name)) throw new Violation(`write ${name} is applied twice`);
      positions.set(name, entry.sequence);
    }
    for (const operation of this.operations) {
      const lost =
        operation.type === 'write' &&
        operation.answeredAt !== Infinity &&
        !positions.has(`${operation.key}:${operation.value}`);
      if (lost) throw new Violation(`acknowledged write ${operation.key}:${operation.value} is lost`);
    }
    for (const key of new Set(this.operations.map((operation) => operation.key))) {
      checkKey(
        this.operations.filter((operation) => operation.key === key),
        positions,
      );
    }
  }
}

/**
 * The log orders the writes, so the check is exact: with the position of the write that an operation is or saw,
 * whatever was answered before another began is not behind it, and truly before it if the other is a write.
 */
function checkKey(operations: Operation[], positions: Map<string, number>): void {
  const events: { at: number; isAnswer: boolean; operation: Operation; position: number }[] = [];
  const invoked = new Map(operations.filter((one) => one.type === 'write').map((one) => [one.value, one.invokedAt]));
  for (const operation of operations) {
    const position = operation.value === null ? 0 : positions.get(`${operation.key}:${operation.value}`);
    if (operation.type === 'write' && position === undefined) continue;
    if (operation.type === 'read' && operation.answeredAt === Infinity) continue;
    if (position === undefined)
      throw new Violation(`a read saw ${operation.key}:${operation.value}, which was never committed`);
    if (operation.type === 'read' && (invoked.get(operation.value) ?? 0) > operation.answeredAt)
      throw new Violation('a read from the future');
    events.push({ at: operation.invokedAt, isAnswer: false, operation, position });
    if (operation.answeredAt !== Infinity)
      events.push({ at: operation.answeredAt, isAnswer: true, operation, position });
  }
  events.sort((one, other) => one.at - other.at || Number(one.isAnswer) - Number(other.isAnswer));
  let done = -1;
  for (const { isAnswer, operation, position } of events) {
    if (isAnswer) done = Math.max(done, position);
    else if (position < done || (operation.type === 'write' && position === done)) {
      throw new Violation(
        `not linearizable: ${operation.type} of ${operation.key} at ${position}, begun at ${operation.invokedAt.toFixed(0)}, after one at ${done}`,
      );
    }
  }
}

function saying(from: string, to: string, what: Said): string {
  if ('result' in what)
    return `${from}>${to} ${what.epoch} ${what.replica.store} ${what.sentAt} ${what.awaited} ${JSON.stringify(what.result)}`;
  return `${from}>${to} ${what.epoch} ${what.prev.epoch} ${what.prev.sequence} ${what.commit} ${what.sentAt} ${what.sharesSince} ${JSON.stringify(what.recorded)}`;
}

function isSameEntry(one: LogEntry, other: LogEntry): boolean {
  return (
    one === other ||
    (one.epoch === other.epoch && one.write?.payload === other.write?.payload && one.write?.at === other.write?.at)
  );
}

function describe(entry: LogEntry): string {
  const { write } = entry;
  return `epoch ${entry.epoch} ${write === null ? 'barrier' : (writtenBy(write.payload)?.value ?? 'a write')}`;
}
