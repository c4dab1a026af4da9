import type { WriteOperation, WriteOutcome } from '../../shared/shard/shard-client';
import { QuiverError } from '../../shared/errors/quiver-error';
import type { KeyValueChange } from '../../shared/kv/key-value-store';
import { recordToBytes } from '../records/record-codec';
import type { RecordStore } from '../records/record-store';
import type { SlotAllocator } from '../records/slot-allocator';
import { type IndexedItem, type ShardIndexes, addToIndexes, parsedMetadata, removeFromIndexes } from './shard-indexes';
import { type PriorItem, planWrites } from './write-plan';

/** A batch of its own, on stable storage before it is answered. */
const SYNCED = { sync: true, alongside: (): KeyValueChange[] => [] };

/** Where the numbering of a shard stands. */
export interface ShardCounters {
  lastOperation: number;
  lastRecno: number;
}

/**
 * The write path of one shard: plan, make durable, apply, answer. Runs one batch at a time (WriteQueue sees to it).
 *
 * A failed disk write leaves nothing visible, but what reached the disk is unknown, and an fsync must never be tried
 * again (Rebello et al., "Can applications recover from fsync failures?", 2020): the shard takes no more writes until it
 * is opened anew, which happens once its disk takes writes again. If the indexes can't follow a durable batch, the same holds for reads.
 */
export class ShardWriter {
  private broken: QuiverError | null = null;

  constructor(
    private readonly parts: {
      dim: number;
      records: RecordStore;
      indexes: ShardIndexes;
      slots: SlotAllocator;
      counters: ShardCounters;
      /** Called after each batch with the number of items put or deleted. */
      onChanges: (count: number) => void;
      /** The indexes no longer show what is durable: nothing may be read until the shard is opened anew. */
      onDiverged: (error: Error) => void;
      /** The disk failed: no write is taken until the shard is opened anew, and reads go on. */
      onWriteFailed: (error: Error) => void;
    },
  ) {}

  /**
   * `writing` is how the batch goes to the disk; `alongside` of it is asked for once the outcomes are known, and written
   * even if nothing else changes.
   */
  async commit(
    requests: WriteOperation[][],
    writing: { sync: boolean; alongside: (outcomes: WriteOutcome[][]) => KeyValueChange[] } = SYNCED,
  ): Promise<WriteOutcome[][]> {
    if (this.broken !== null) throw this.broken;
    const { counters, records, indexes, slots, dim } = this.parts;
    const texts = await this.textsToKeep(requests);
    const { outcomes, puts, deletes } = planWrites(requests, (externalId) => this.priorOf(externalId, texts));
    const alongside = writing.alongside(outcomes);
    if (puts.length === 0 && deletes.length === 0 && alongside.length === 0) return outcomes;

    const operation = counters.lastOperation + 1;
    let recno = counters.lastRecno;
    const parsed = puts.map(({ item }) => parsedMetadata(item.metadata));
    const items: IndexedItem[] = puts.map(({ item }, i) => ({ ...item, parsed: parsed[i], slot: slots.allocate(), recno: ++recno }));
    const freed: number[] = [];
    const successors = new Map<number, number>();
    const dropped = deletes.map(({ externalId, prior }) => ({ ...prior, externalId, leavesOrder: true }));
    puts.forEach(({ item, prior }, i) => {
      if (prior === null) return;
      dropped.push({ ...prior, externalId: item.externalId, leavesOrder: prior.stamp !== item.stamp });
      successors.set(prior.slot, items[i].slot);
    });
    for (const { slot } of dropped) freed.push(slot);
    try {
      const stored = items.map((item) => ({ ...item, bytes: recordToBytes(item) }));
      await records.write({ operation, stored, dropped }, { sync: writing.sync, alongside });
    } catch (error) {
      this.broken = new QuiverError('storage_failed', `${diskTrouble(error)}: writes are refused until the disk takes them again; reads go on`, { cause: error });
      this.parts.onWriteFailed(error as Error);
      throw new QuiverError('commit_unknown', 'the disk failed while the write was stored: it is stored as a whole or not at all; it is safe to try again', { cause: error });
    }
    counters.lastOperation = operation;
    counters.lastRecno = recno;
    this.parts.onChanges(items.length + dropped.length);
    try {
      removeFromIndexes(indexes, freed);
      addToIndexes(indexes, items, dim);
    } catch (error) {
      this.broken = new QuiverError('storage_failed', 'the shard stored a write that its indexes could not follow; it is being opened anew', { cause: error });
      this.parts.onDiverged(error as Error);
      throw new QuiverError('commit_unknown', 'the write is stored but not yet visible; it is safe to try again', { cause: error });
    }
    slots.release(freed, successors);
    return outcomes;
  }

  private priorOf(externalId: string, texts: ReadonlyMap<number, string | null>): PriorItem | null {
    const { directory } = this.parts.indexes;
    const slot = directory.slotOf(externalId);
    if (slot < 0) return null;
    const recno = directory.recnoOf(slot);
    return { slot, recno, stamp: directory.stampOf(slot), metadata: directory.metadataOf(slot), text: texts.get(recno) ?? null };
  }

  /** Stored texts, by record number, of the items that an operation updates without giving a text. */
  private async textsToKeep(requests: WriteOperation[][]): Promise<Map<number, string | null>> {
    const { directory } = this.parts.indexes;
    const recnos = new Set<number>();
    for (const operations of requests) {
      for (const operation of operations) {
        if (operation.type !== 'upsert' || operation.text !== undefined) continue;
        const slot = directory.slotOf(operation.externalId);
        if (slot >= 0 && directory.hasText(slot)) recnos.add(directory.recnoOf(slot));
      }
    }
    if (recnos.size === 0) return new Map();
    const wanted = [...recnos];
    const found = await this.parts.records.readTexts(wanted);
    return new Map(
      wanted.map((recno, i) => {
        const text = found[i];
        if (text === undefined) throw new QuiverError('storage_failed', 'an item has no record any more');
        return [recno, text];
      }),
    );
  }
}

/** What callers are told of a failed write; the whole of it is in the log. */
function diskTrouble(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  return cause instanceof Error && /no space left|quota exceeded/i.test(cause.message) ? 'the disk is full' : 'the disk failed';
}
