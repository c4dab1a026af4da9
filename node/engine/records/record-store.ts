import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type {
  KeyValueChange,
  KeyValueEntry,
  KeyValueStore,
  PackedPuts,
  StoreMemory,
  StoreSnapshot,
} from '../kv/key-value-store';
import { DedupStore } from './dedup-store';
import {
  type ItemRecord,
  type JournalEntry,
  journalFromBytes,
  journalToBytes,
  recordFromBytes,
  textFromRecordBytes,
} from './record-codec';
import { versionFromBytes } from './version-count';
import { type StageState, stageFromBytes, OPEN_STAGE } from './shard-stage-state';
import {
  ITEM_RANGE,
  JOURNAL_RANGE,
  ORDER_RANGE,
  SPEC_KEY,
  STABLE_KEY,
  VERSIONS_KEY,
  externalIdOfOrderKey,
  itemKey,
  journalKey,
  keyAfter,
  operationOfJournalKey,
  orderKey,
  CHANGES_RANGE,
  changeKey,
  changeOfKey,
  STAGE_KEY,
  LOGGED_KEY,
  LOGGED_TIME_KEY,
  REPLICA_POSITION_KEY,
  REPLICA_RANGE,
  WRITES_RANGE,
  writeKey,
  recnoOfItemKey,
  stampOfOrderKey,
} from './record-keys';

/** One batch of stored and deleted versions, all or nothing. */
export interface RecordBatch {
  operation: number;
  /** New versions, and their records and places in the insertion order as packed entries (record-pack.ts). */
  stored: { items: readonly { recno: number; slot: number }[]; entries: Buffer };
  /** Versions that are deleted; `stamp` is set if the item leaves the insertion order, too. */
  dropped: { recno: number; externalId: string; slot: number; leavesOrder: boolean; stamp: number }[];
}

/**
 * How a batch is written: whether it is on stable storage when the write resolves (`sync`), and which changes to other
 * keys are written in the same batch.
 */
export interface BatchWriting {
  sync: boolean;
  alongside: KeyValueChange[];
}

/** All records of one read are in memory at the same time: vectors of 16,384 floats are 64 KiB each. */
const RECORDS_PER_READ = 256;

/** Texts of one state of a shard's records, see {@link RecordStore.readTexts}. */
export interface TextsOfNow {
  readTexts(recnos: number[]): Promise<(string | null)[]>;
  free(): void;
}

/**
 * The source of truth of a shard: its items, their insertion order and the journal, over a KeyValueStore. Errors:
 * storage_failed when the store fails, storage_damaged when it lacks what was written or holds something else.
 */
export class RecordStore {
  readonly marks: DedupStore;
  private before: (() => Promise<void>) | null = null;
  /** See {@link keepShown}. */
  private kept: KeptState | null = null;

  constructor(private readonly store: KeyValueStore) {
    this.marks = new DedupStore(store, () => this.shown);
  }

  /**
   * From here on, readers are shown what is stored now, and with it what the next batch drops, until {@link
   * forgetShown}: a store shows a batch before its writer hears of it, and the indexes follow later still. At most one
   * batch at a time.
   */
  keepShown(): void {
    this.kept ??= new KeptState(this.store.snapshot());
  }

  /** The indexes have followed all that is stored. Reads that have begun go on. */
  forgetShown(): void {
    this.kept?.leave();
    this.kept = null;
  }

  /** What readers are shown, for a read that begins now. */
  private get shown(): Pick<KeyValueStore, 'getMany' | 'scan'> {
    return this.kept?.snapshot ?? this.store;
  }

  /** Does something before the next batch is written, once. Errors of it fail nothing. */
  beforeNextWrite(act: () => Promise<void>): void {
    this.before = act;
  }

  write(batch: RecordBatch, writing: BatchWriting): Promise<void> {
    const { before } = this;
    if (before === null) return this.writeNow(batch, writing);
    // What is done then may note by what the store will be known.
    return this.store
      .takeChanges()
      .then(() => {
        this.before = null;
        return before().catch(() => undefined);
      })
      .then(() => this.writeNow(batch, writing));
  }

  private writeNow(batch: RecordBatch, { sync, alongside }: BatchWriting): Promise<void> {
    const changes: (KeyValueChange | PackedPuts)[] = [...alongside];
    const journal: JournalEntry = { freedSlots: [], filledSlots: batch.stored.items };
    for (const { recno, externalId, slot, leavesOrder, stamp } of batch.dropped) {
      changes.push({ type: 'delete', key: itemKey(recno) });
      if (leavesOrder) changes.push({ type: 'delete', key: orderKey(stamp, externalId) });
      journal.freedSlots.push(slot);
    }
    if (batch.stored.entries.length > 0) changes.push({ type: 'puts', entries: batch.stored.entries });
    changes.push({ type: 'put', key: journalKey(batch.operation), value: journalToBytes(journal) });
    return this.store.write(changes, { sync });
  }

  /** Items in the order of `recnos`, all of which must exist. */
  async readItems(recnos: number[]): Promise<ItemRecord[]> {
    const items = await readAs(this.store, recnos, recordFromBytes);
    return items.map((item, i) => item ?? missing(recnos[i]));
  }

  /**
   * Texts (null: the item has none) in the order of `recnos`, which the indexes name at the call: what is written
   * meanwhile takes none of them away.
   */
  async readTexts(recnos: number[]): Promise<(string | null)[]> {
    // Several reads show several states.
    if (recnos.length > RECORDS_PER_READ) {
      const now = this.textsOfNow();
      return now.readTexts(recnos).finally(() => now.free());
    }
    const { kept } = this;
    kept?.enter();
    return textsIn(this.store, kept, recnos).finally(() => kept?.leave());
  }

  /** The same of what the indexes name now, for several reads; to be freed. */
  textsOfNow(): TextsOfNow {
    const { kept } = this;
    const now = this.store.snapshot();
    kept?.enter();
    return {
      readTexts: (recnos) => textsIn(now, kept, recnos),
      free: () => {
        now.free();
        kept?.leave();
      },
    };
  }

  /** Every item, by record number. */
  async *items(): AsyncIterable<{ recno: number; item: ItemRecord }[]> {
    for await (const page of this.store.scan({ ...ITEM_RANGE, pageSize: RECORDS_PER_READ * 4 })) {
      yield page.map(({ key, value }) => ({ recno: recnoOfItemKey(key), item: decodedRecord(value, recordFromBytes) }));
    }
  }

  /**
   * The stored entries of records `from` to `to`, as they are: for a backup. Those of numbers that are given already
   * only become fewer.
   */
  entries(from: number, to: number): AsyncIterable<KeyValueEntry[]> {
    return this.store.scan({ from: itemKey(from), to: itemKey(to + 1) });
  }

  /**
   * Records from number `from` on, the journal, what is stored of the shard itself, the insertion order, and the place
   * in a replica's log, in this order and of one moment.
   */
  viewFrom(from: number): AsyncIterable<KeyValueEntry[]> {
    return this.store.scan({ from: itemKey(from), to: REPLICA_RANGE.to });
  }

  /** What is stored of writes that are kept for shipping; null: none ever was. */
  async logged(): Promise<Buffer | null> {
    return (await this.store.get(LOGGED_KEY)) ?? null;
  }

  putLogged(value: Buffer): Promise<void> {
    return this.store.write([{ type: 'put', key: LOGGED_KEY, value }], { sync: true });
  }

  /** The writes that are kept, from `sequence` on. */
  writes(sequence: number, options: { values: boolean; pageSize: number }): AsyncIterable<KeyValueEntry[]> {
    return this.store.scan({ from: writeKey(sequence), to: WRITES_RANGE.to, ...options });
  }

  /** `latestMs`: what the times of those that come are not before. */
  async forgetWrites(upTo: number, latestMs: number): Promise<void> {
    const value = Buffer.allocUnsafe(8);
    value.writeDoubleLE(latestMs);
    await this.store.write([{ type: 'put', key: LOGGED_TIME_KEY, value }], { sync: false });
    await this.store.clear({ from: WRITES_RANGE.from, to: writeKey(upTo + 1) });
  }

  /** Gives back what writes that are forgotten took on the disk. */
  reclaimWrites(upTo: number): Promise<void> {
    return this.store.reclaim({ from: WRITES_RANGE.from, to: writeKey(upTo + 1) });
  }

  /** The latest time of a write that was forgotten; 0: none was. */
  async latestForgottenMs(): Promise<number> {
    return (await this.store.get(LOGGED_TIME_KEY))?.readDoubleLE(0) ?? 0;
  }

  /** Whether it began with what a backup has, be it nothing. */
  async isRestored(): Promise<boolean> {
    return (await this.store.get(REPLICA_POSITION_KEY)) !== undefined;
  }

  /** Insertion order after (stamp, externalId), as readers are shown it; null starts at the beginning. */
  async *order(
    after: { stamp: number; externalId: string } | null,
    pageSize: number,
  ): AsyncIterable<{ stamp: number; externalId: string }[]> {
    const from = after === null ? ORDER_RANGE.from : keyAfter(orderKey(after.stamp, after.externalId));
    for await (const page of this.shown.scan({ from, to: ORDER_RANGE.to, pageSize, values: false })) {
      yield page.map(({ key }) => ({ stamp: stampOfOrderKey(key), externalId: externalIdOfOrderKey(key) }));
    }
  }

  /** Journal entries from `operation` on, ascending. */
  async *journal(operation: number): AsyncIterable<{ operation: number; entry: JournalEntry }[]> {
    for await (const page of this.store.scan({ from: journalKey(operation), to: JOURNAL_RANGE.to })) {
      yield page.map(({ key, value }) => ({
        operation: operationOfJournalKey(key),
        entry: decodedRecord(value, journalFromBytes),
      }));
    }
  }

  /** Puts every batch written before the call on stable storage, including those written without a sync. */
  stabilise(operation: number): Promise<void> {
    const value = Buffer.allocUnsafe(8);
    value.writeDoubleLE(operation);
    return this.store.write([{ type: 'put', key: STABLE_KEY, value }], { sync: true });
  }

  /** Deletes the journal before `operation`. The entry of `operation` stays: it shows how far the records reach. */
  trimJournal(operation: number): Promise<void> {
    return this.store.clear({ from: JOURNAL_RANGE.from, to: journalKey(operation) });
  }

  /** The highest record number in the store; 0 if there is none. */
  async lastRecno(): Promise<number> {
    for await (const page of this.store.scan({ ...ITEM_RANGE, reverse: true, limit: 1, values: false }))
      return recnoOfItemKey(page[0].key);
    return 0;
  }

  /** The gate, with the last change that the records know of. */
  async stageState(): Promise<StageState> {
    const stored = await this.store.get(STAGE_KEY);
    if (stored === undefined) return OPEN_STAGE;
    const stageState = decodedRecord(stored, stageFromBytes);
    for await (const [{ key }] of this.store.scan({ ...CHANGES_RANGE, reverse: true, limit: 1, values: false }))
      return { ...stageState, lastChange: Math.max(stageState.lastChange, changeOfKey(key)) };
    return stageState;
  }

  /** Up to `limit` ids with the numbers of their changes, after the change `after` and up to `last`. */
  async changes(after: number, last: number, limit: number): Promise<{ change: number; externalId: string }[]> {
    const found: { change: number; externalId: string }[] = [];
    if (after >= last) return found;
    for await (const page of this.store.scan({ from: changeKey(after + 1), to: changeKey(last + 1), limit })) {
      for (const { key, value } of page)
        found.push({ change: changeOfKey(key), externalId: value.toString('utf16le') });
    }
    return found;
  }

  /** Forgets the changes up to this one. */
  forgetChanges(upTo: number): Promise<void> {
    return this.store.clear({ from: CHANGES_RANGE.from, to: changeKey(upTo + 1) });
  }

  /** What is stored of the count of versions; null while the shard counts none. */
  async versions(): Promise<number | null> {
    const stored = await this.store.get(VERSIONS_KEY);
    return stored === undefined ? null : decodedRecord(stored, versionFromBytes);
  }

  async spec(): Promise<string | null> {
    return (await this.store.get(SPEC_KEY))?.toString() ?? null;
  }

  writeSpec(spec: string): Promise<void> {
    return this.store.write([{ type: 'put', key: SPEC_KEY, value: Buffer.from(spec) }], { sync: true });
  }

  /** Rewrites the files, so that none holds what was deleted or replaced. */
  async purge(): Promise<void> {
    await this.store.compact();
  }

  /** See KeyValueStore.verify. */
  verify(options: { bytesPerSecond: number; stop: AbortSignal }): Promise<void> {
    return this.store.verify(options);
  }

  memory(): StoreMemory {
    return this.store.memory();
  }

  /** Nothing of them was changed since they were opened. */
  get isOnlyRead(): boolean {
    return this.store.isOnlyRead;
  }

  /** Bytes on the disk: in the store's tables, and what is only in its log yet, as far as that is known from memory. */
  async sizeBytes(): Promise<number> {
    return (await this.store.sizeBytes()) + this.store.memory().memtableBytes;
  }

  /** `rests`: see the store's. */
  close(rests = false): Promise<void> {
    return this.store.close(rests);
  }
}

/** A state of the store for as long as somebody uses it, its maker first. */
class KeptState {
  private users = 1;

  constructor(readonly snapshot: StoreSnapshot) {}

  enter(): void {
    this.users += 1;
  }

  leave(): void {
    this.users -= 1;
    if (this.users === 0) this.snapshot.free();
  }
}

/** `kept`: has what a batch that is being stored drops. */
async function textsIn(
  store: Pick<KeyValueStore, 'getMany'>,
  kept: KeptState | null,
  recnos: number[],
): Promise<(string | null)[]> {
  const texts = await readAs(store, recnos, textFromRecordBytes);
  const dropped = texts.flatMap((text, i) => (text === undefined ? [i] : []));
  if (dropped.length === 0) return texts as (string | null)[];
  const recnosDropped = dropped.map((i) => recnos[i]);
  if (kept === null) return missing(recnosDropped[0]);
  const found = await readAs(kept.snapshot, recnosDropped, textFromRecordBytes);
  found.forEach((text, n) => (texts[dropped[n]] = text === undefined ? missing(recnosDropped[n]) : text));
  return texts as (string | null)[];
}

async function readAs<Part>(
  store: Pick<KeyValueStore, 'getMany'>,
  recnos: number[],
  decode: (bytes: Buffer) => Part,
): Promise<(Part | undefined)[]> {
  const found: (Part | undefined)[] = [];
  for (let at = 0; at < recnos.length; at += RECORDS_PER_READ) {
    const stored = await store.getMany(recnos.slice(at, at + RECORDS_PER_READ).map(itemKey));
    for (const bytes of stored) found.push(bytes === undefined ? undefined : decodedRecord(bytes, decode));
  }
  return found;
}

function missing(recno: number): never {
  throw new QuiverError('storage_damaged', `record ${recno} is missing`);
}

/** What a stored record holds. Errors: storage_damaged. */
export function decodedRecord<Part>(bytes: Buffer, decode: (bytes: Buffer) => Part): Part {
  try {
    return decode(bytes);
  } catch (error) {
    throw new QuiverError('storage_damaged', 'a stored record is damaged', { cause: error });
  }
}
