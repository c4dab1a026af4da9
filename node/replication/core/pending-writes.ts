import type { WriteResult } from '../../../shared/contract/shard/shard-client';
import type { ReplicaEffect } from './effects';

/** Clients' writes that are in a primary's log and not answered yet. */
export class PendingWrites {
  /** Payload bytes of entries that are not applied. */
  bytes = 0;
  private readonly bySequence = new Map<number, { writeIds: number[]; bytes: number }>();
  private readonly emit: (effect: ReplicaEffect) => void;

  constructor(options: { emit: (effect: ReplicaEffect) => void }) {
    this.emit = options.emit;
  }

  added(writeId: number, sequence: number, bytes: number): void {
    this.bySequence.set(sequence, { writeIds: [writeId], bytes });
    this.bytes += bytes;
  }

  /** Adds another call of a write that is in the log already. */
  wait(writeId: number, sequence: number): void {
    const pending = this.bySequence.get(sequence);
    if (pending === undefined) this.bySequence.set(sequence, { writeIds: [writeId], bytes: 0 });
    else pending.writeIds.push(writeId);
  }

  /** `result` null: the entry was skipped, because its session had given it up. */
  applied(sequence: number, result: WriteResult | null): void {
    const pending = this.bySequence.get(sequence);
    if (pending === undefined) return;
    this.bySequence.delete(sequence);
    this.bytes -= pending.bytes;
    for (const writeId of pending.writeIds) {
      if (result !== null) this.emit({ type: 'answer', writeId, answer: { ok: true, result } });
      else this.unknown(writeId, 'the write had been given up by its session');
    }
  }

  /** The replica no longer leads: its successor may have committed the entries, or they may be gone. */
  abandon(): void {
    for (const { writeIds } of this.bySequence.values()) {
      for (const writeId of writeIds) this.unknown(writeId, 'the shard changed its primary during the write');
    }
    this.bySequence.clear();
    this.bytes = 0;
  }

  private unknown(writeId: number, reason: string): void {
    this.emit({ type: 'answer', writeId, answer: { ok: false, kind: 'commit_unknown', reason } });
  }
}
