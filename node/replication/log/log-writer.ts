import assert from 'node:assert';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { KeyValueChange, KeyValueStore } from '../../engine/kv/key-value-store';
import type { LogChange, ReplicaState } from '../core/replica-state';
import { logEntryToBytes } from './log-entry-codec';
import { logKey, pairToBytes, PROMISES_KEY } from './log-keys';
import type { LogWatermark } from './log-watermark';
import { dropTrimmedEpochs, epochAt } from './log-survey';

/** Payload bytes stored in one batch: larger batches block the event loop for long and gain nothing. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024;

interface WaitingChange {
  change: LogChange;
  done: () => void;
  fail: (error: unknown) => void;
}

/**
 * Puts changes of a log on stable storage, in order. Changes that wait share a batch and its sync, and then one write
 * of the high-water mark. Updates the log's part of `state`. After the first failure it accepts nothing: a failed sync
 * must never be tried again.
 */
export class LogWriter {
  private readonly parts: {
    store: KeyValueStore;
    watermark: LogWatermark;
    state: ReplicaState;
    onEntry: (sequence: number, bytes: number) => void;
    /** Called for an entry that is removed. */
    onCut: (position: { sequence: number; epoch: number }) => void;
  };
  private waiting: WaitingChange[] = [];
  private writing: Promise<void> | null = null;
  private marking: Promise<void> = Promise.resolve();
  private failure: unknown = null;
  private closed = false;

  constructor(parts: LogWriter['parts']) {
    this.parts = parts;
  }

  /** Errors: storage_failed. */
  append(change: LogChange): Promise<void> {
    if (this.failure !== null) return Promise.reject(this.failure);
    if (this.closed) return Promise.reject(new QuiverError('unavailable', 'the replica is closed'));
    return new Promise((done, fail) => {
      this.waiting.push({ change, done, fail });
      this.writing ??= this.writeAll();
    });
  }

  /** Writes what waits, and accepts nothing more. */
  async close(): Promise<void> {
    this.closed = true;
    await this.writing;
    await this.marking;
  }

  private async writeAll(): Promise<void> {
    // Appends in the same turn of the event loop share the first sync.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      try {
        if (this.failure !== null) throw this.failure;
        await this.writeBatch(batch.map(({ change }) => change));
      } catch (error) {
        this.failure ??= error;
        for (const { fail } of [...batch, ...this.waiting.splice(0)]) fail(error);
        break;
      }
      this.raiseWatermark(batch);
    }
    this.writing = null;
  }

  private takeBatch(): WaitingChange[] {
    let bytes = 0;
    let count = 0;
    while (count < this.waiting.length && (count === 0 || bytes < BATCH_BYTES_MAX)) {
      for (const { write } of this.waiting[count].change.entries ?? []) bytes += write?.payload.length ?? 0;
      count += 1;
    }
    return this.waiting.splice(0, count);
  }

  /** Answers a stored batch once the mark covers it; meanwhile the next batch is written to the store. */
  private raiseWatermark(batch: WaitingChange[]): void {
    const { state, watermark } = this.parts;
    const { lastSequence, promisedEpoch, lastLedEpoch } = state;
    const marked = { sequence: lastSequence, epoch: epochAt(state, lastSequence), promisedEpoch, lastLedEpoch };
    this.marking = this.marking
      .then(() => watermark.write(marked))
      .then(
        () => batch.forEach(({ done }) => done()),
        (error: unknown) => {
          this.failure ??= error;
          for (const { fail } of batch) fail(error);
        },
      );
  }

  private async writeBatch(changes: LogChange[]): Promise<void> {
    const { state, store, onEntry, onCut } = this.parts;
    /**
     * By key, the last change of a key counts: the store applies changes in order, so this also holds for what is
     * removed and put again.
     */
    const writes: KeyValueChange[] = [];
    let { promisedEpoch, lastLedEpoch, lastSequence } = state;
    let epochStarts = [...state.epochStarts];
    /** The entries after it are not all those that were there before. */
    let cutAt = Infinity;
    for (const change of changes) {
      if (change.truncateAfter !== undefined) {
        assert(change.truncateAfter >= state.appliedSequence, 'an applied entry is never taken back');
        for (let sequence = lastSequence; sequence > change.truncateAfter; sequence -= 1) {
          const epoch = epochAt({ ...state, epochStarts }, sequence);
          writes.push({ type: 'delete', key: logKey(sequence, epoch) });
          onCut({ sequence, epoch });
        }
        lastSequence = Math.min(lastSequence, change.truncateAfter);
        cutAt = Math.min(cutAt, lastSequence);
        epochStarts = epochStarts.filter(({ sequence }) => sequence <= lastSequence);
      }
      for (const entry of change.entries ?? []) {
        assert.equal(entry.sequence, lastSequence + 1, 'a gap in the log');
        const value = logEntryToBytes(entry);
        writes.push({ type: 'put', key: logKey(entry.sequence, entry.epoch), value });
        onEntry(entry.sequence, value.length);
        lastSequence = entry.sequence;
        if (entry.epoch > (epochStarts.at(-1)?.epoch ?? 0))
          epochStarts.push({ epoch: entry.epoch, sequence: entry.sequence });
      }
      promisedEpoch = Math.max(promisedEpoch, change.promisedEpoch ?? 0);
      lastLedEpoch = Math.max(lastLedEpoch, change.lastLedEpoch ?? 0);
    }
    if (promisedEpoch !== state.promisedEpoch || lastLedEpoch !== state.lastLedEpoch) {
      writes.push({ type: 'put', key: PROMISES_KEY, value: pairToBytes(promisedEpoch, lastLedEpoch) });
    }
    if (cutAt < Infinity) await this.lowerWatermark(cutAt);
    await store.write(writes, { sync: true });
    // The log may have been trimmed meanwhile.
    Object.assign(state, { promisedEpoch, lastLedEpoch, lastSequence, epochStarts });
    dropTrimmedEpochs(state);
  }

  /** Lowers the mark before entries are removed, so that they do not count as lost if a crash comes in between. */
  private async lowerWatermark(sequence: number): Promise<void> {
    const { state, watermark } = this.parts;
    await this.marking;
    if (sequence >= (watermark.state?.sequence ?? 0)) return;
    await watermark.write({
      sequence,
      epoch: epochAt(state, sequence),
      promisedEpoch: state.promisedEpoch,
      lastLedEpoch: state.lastLedEpoch,
    });
  }
}
