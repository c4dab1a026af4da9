import {
  type DedupOperation,
  type ItemOperation,
  NO_TERM,
  type WriteResult,
} from '../../../../shared/contract/shard/shard-client';
import { isDamage, QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { KeyValueChange } from '../../kv/key-value-store';
import { inSlices } from '../../../../shared/base/time/work-slices';
import { isChunkId } from '../../../../shared/contract/shard/chunk-id';
import { asksWords } from '../../filter/filter-needs';
import { itemHasWords } from '../../keyword/word-conditions';
import { recordRoom } from '../../records/record-codec';
import { RecordPack } from '../../records/record-pack';
import { refusalOfDisk } from '../../files/disk-trouble';
import type { RecordBatch, RecordStore } from '../../records/record-store';
import type { SlotAllocator } from '../../directory/slot-allocator';
import { changeKey, STAGE_KEY, SPEC_KEY } from '../../records/record-keys';
import { type StageState, stageToBytes, OPEN_STAGE } from '../../records/shard-stage-state';
import type { DedupUsage } from '../../records/dedup-store';
import { type VersionCount, versionChanges } from '../../records/version-count';
import type { ShardFacts } from '../../records/shard-format';
import type { ShardOperation } from './checked-write';
import { type IndexChange, IndexApplication } from './index-application';
import { type IndexedItem, type PreparedContent, type ShardIndexes, prepareItems } from '../shard-indexes';
import { DedupTable } from './dedup-table';
import type { WholeWrites } from '../reading/whole-writes';
import type { ShardExpiry } from '../removal/shard-expiry';
import { type PlannedItem, type PriorItem, planWrites, type WritePlan } from './write-plan';

/** A batch of its own, on stable storage before it is answered. */
const SYNCED: BatchOptions = { sync: true, alongside: () => [] };

/** How a batch goes to the disk. */
export interface BatchOptions {
  sync: boolean;
  /** Called once the results are known; its changes are written even if nothing else changes. */
  alongside: (results: WriteResult[]) => KeyValueChange[];
  /** See PlanGround. */
  counted?: readonly boolean[];
  /** See PlanGround; default: now. */
  moments?: readonly number[];
  /** Whether the versions of each request tell when items changed; default: they do. */
  dated?: readonly boolean[];
}

/** A record takes about so many bytes besides its own: keys and lengths. */
const RECORD_ROOM_BESIDE = 64;

/** The numbers that a shard has given out last. */
export interface ShardCounters {
  lastOperation: number;
  lastRecno: number;
  versions: VersionCount;
  /** Whether it has, or had, items that expire. */
  expiries?: boolean;
}

/** The gate of a shard as its readers see it: after what is durable and applied. */
export interface ShardStageState {
  readonly now: StageState;
  pass(next: StageState): void;
}

/**
 * The write path of one shard: plan, prepare, make durable, apply, answer. Runs one batch at a time (WriteQueue ensures
 * that). Preparing (parsing, text analysis) and applying run in slices, so that a large write delays only the writes
 * behind it. Preparing takes most of the time and comes first, so readers see the state before the write meanwhile.
 *
 * A store shows a batch before the writer hears of it, and readers go by the indexes, which follow it. Until they have,
 * readers are shown the store as it was (`keepShown`).
 *
 * A failed disk write leaves nothing visible, but it is unknown what reached the disk, and an fsync must never be tried
 * again (Rebello et al., "Can applications recover from fsync failures?", 2020). So the shard accepts no more writes
 * until it is opened again, which happens once its disk accepts writes. If the indexes can't follow a durable batch,
 * the same holds for reads.
 */
export class ShardWriter {
  private broken: QuiverError | null = null;
  private abandoned: (() => QuiverError) | null = null;
  /** Of the marks of the shard; null: not read yet, because no write had one. */
  private dedupUsage: DedupUsage | null = null;
  private readonly application: IndexApplication;

  constructor(
    private readonly parts: {
      dim: number;
      records: RecordStore;
      indexes: ShardIndexes;
      slots: SlotAllocator;
      counters: ShardCounters;
      stageState: ShardStageState;
      /** The specification of the shard with what it has. */
      specWith: (has: ShardFacts) => string;
      expiry: ShardExpiry;
      whole: WholeWrites;
      /** Called after each batch with the number of items put or deleted. */
      onChanges: (count: number) => void;
      /** The indexes no longer show what is durable: nothing may be read until the shard is opened again. */
      onDiverged: (error: Error) => void;
      /** The disk failed: no write is accepted until the shard is opened again; reads continue. */
      onWriteFailed: (error: Error) => void;
    },
  ) {
    this.application = new IndexApplication(parts);
  }

  async commit(requests: ShardOperation[][], writing: BatchOptions = SYNCED): Promise<WriteResult[]> {
    if (this.broken !== null) throw this.broken;
    const { counters, records, indexes, slots, stageState, expiry } = this.parts;
    const nowMs = expiry.now();
    const moments = writing.moments ?? requests.map(() => nowMs);
    for (const moment of moments) expiry.advance(moment);
    const texts = await this.textsToKeep(requests);
    const marks = await this.dedupOf(requests);
    const vectors = await this.vectorsToKeep(requests);
    const plan = await inSlices(
      planWrites(requests, {
        priorOf: (externalId) => this.priorOf(externalId, texts),
        vectorOf: (slot) => vectors.get(slot) ?? indexes.vectors.vectors(Uint32Array.of(slot)),
        stageState: stageState.now,
        versions: counters.versions,
        marks,
        counted: writing.counted,
        moments,
        dated: writing.dated,
        hasWords: (condition, item) => itemHasWords(condition, indexes.keywords, item),
        highestVersion: (except) => indexes.directory.highestVersion(except),
      }),
    );
    const { results, puts, deletes } = plan;
    const alongside = writing.alongside(results);
    for (const change of this.factsOf(plan)) alongside.push(change);
    for (const change of marks?.changes() ?? []) alongside.push(change);
    if (puts.length === 0 && deletes.length === 0 && alongside.length === 0) return results;

    const planned = plannedOf(puts);
    const prepared = await inSlices(this.whileWanted(prepareItems(indexes.keywords, planned)));
    const operation = counters.lastOperation + 1;
    const items = indexedOf(planned, prepared, counters.lastRecno, slots);
    const dropped = droppedOf(plan);
    try {
      const pack = await inSlices(recordsOf(items));
      // All else that a batch stores is found by what the indexes say.
      if (dropped.length > 0 || marks !== null) records.keepShown();
      await records.write(
        { operation, stored: { items, entries: pack.entries }, dropped },
        { sync: writing.sync, alongside },
      );
      pack.free();
      if (plan.stageState.forgotten > stageState.now.forgotten) await records.forgetChanges(plan.stageState.forgotten);
    } catch (error) {
      // Nothing was written yet. Whether what is missing was ever promised, an opening tells.
      if (isDamage(error) && records.isOnlyRead) {
        this.broken = new QuiverError(
          'unavailable',
          'the records are not what was read when the shard was opened, so it is opened anew; the call may be retried',
          { cause: error },
        );
        this.parts.onWriteFailed(error);
        throw this.broken;
      }
      this.broken = new QuiverError(
        'storage_failed',
        `${refusalOfDisk(error) ?? 'the disk failed'}: writes are refused until the disk takes them again; reads go on`,
        { cause: error },
      );
      this.parts.onWriteFailed(error as Error);
      throw new QuiverError(
        'commit_unknown',
        'the disk failed while the write was stored: it is stored as a whole or not at all; it is safe to try again',
        { cause: error },
      );
    }
    const isWhole = isOfDocument(plan);
    try {
      const held = isWhole ? this.parts.whole.begin() : undefined;
      if (held !== undefined) await held;
      const changes = changesOf(plan, items);
      await (isWhole ? this.application.runWhole(changes) : this.application.run(changes));
    } catch (error) {
      if (isWhole) this.parts.whole.end();
      this.broken = new QuiverError(
        'storage_failed',
        'the shard stored a write that its indexes could not follow; it is being opened anew',
        { cause: error },
      );
      this.parts.onDiverged(error as Error);
      throw new QuiverError('commit_unknown', 'the write is stored but not yet visible; it is safe to try again', {
        cause: error,
      });
    }
    records.forgetShown();
    if (isWhole) this.parts.whole.end();
    // Not earlier: a checkpoint that begins meanwhile must not count this operation among those in its files.
    counters.lastOperation = operation;
    counters.lastRecno += items.length;
    counters.versions = plan.versions;
    if (marks !== null) this.dedupUsage = marks.usage;
    counters.expiries ||= expires(plan);
    if (plan.stageState !== stageState.now) stageState.pass(plan.stageState);
    this.parts.onChanges(items.length + dropped.length);
    return results;
  }

  /** Writes that are still being prepared fail with the error, and nothing of them is stored; durable ones continue. */
  abandon(error: () => QuiverError): void {
    this.abandoned = error;
  }

  /** The steps, until {@link abandon}. */
  private *whileWanted<Result>(steps: Iterator<unknown, Result>): Generator<undefined, Result> {
    for (;;) {
      if (this.abandoned !== null) throw this.abandoned();
      const { done, value } = steps.next();
      if (done === true) return value;
      yield;
    }
  }

  /** What is stored of the gate and of the count of versions, where a plan changes them. */
  private factsOf(plan: WritePlan): KeyValueChange[] {
    const { stageState, counters, specWith } = this.parts;
    const has = {
      stageState: plan.stageState !== OPEN_STAGE,
      versions: plan.versions.isCounting,
      expiries: counters.expiries === true || expires(plan),
    };
    // Not spread: a batch may note more changes than a call has arguments.
    const changes = plan.stageState === stageState.now ? [] : stageChanges(plan, stageState.now, specWith(has));
    if (has.expiries && counters.expiries !== true)
      changes.push({ type: 'put', key: SPEC_KEY, value: Buffer.from(specWith(has)) });
    if (plan.versions === counters.versions && plan.deletes.length === 0) return changes;
    const highestPut = plan.puts.reduce((highest, { item }) => Math.max(highest, item.version), 0);
    const hasLoss =
      plan.deletes.length > 0 || plan.puts.some(({ item, prior }) => prior !== null && prior.version > item.version);
    changes.push(...versionChanges(plan.versions, counters.versions, { highestPut, hasLoss }));
    if (has.versions && !counters.versions.isCounting)
      changes.push({ type: 'put', key: SPEC_KEY, value: Buffer.from(specWith(has)) });
    return changes;
  }

  private priorOf(externalId: string, texts: ReadonlyMap<number, string | null>): PriorItem | null {
    const { directory } = this.parts.indexes;
    const slot = directory.storedSlotOf(externalId);
    if (slot < 0) return null;
    const recno = directory.recnoOf(slot);
    return {
      slot,
      recno,
      stamp: directory.stampOf(slot),
      version: directory.versionOf(slot),
      expiry: directory.expiryOf(slot),
      dated: directory.isDated(slot),
      metadata: directory.metadataOf(slot),
      text: texts.get(recno) ?? null,
    };
  }

  /**
   * Vectors, by slot, of items that expire and that a patch may change without giving a vector: by the time it is
   * planned, the index may hold them no more, though by the moment of the write they had not expired.
   */
  private async vectorsToKeep(requests: ShardOperation[][]): Promise<Map<number, Float32Array>> {
    const { directory, vectors } = this.parts.indexes;
    const kept = new Map<number, Float32Array>();
    if (directory.expiringCount === 0) return kept;
    const hidden: number[] = [];
    for (const operations of requests) {
      for (const operation of operations) {
        if (operation.type !== 'patch' || operation.vector !== undefined) continue;
        const slot = directory.storedSlotOf(operation.externalId);
        if (slot < 0 || directory.expiryOf(slot) === 0) continue;
        if (directory.isHidden(slot)) hidden.push(slot);
        else kept.set(slot, vectors.vectors(Uint32Array.of(slot)));
      }
    }
    const stored = await this.parts.records.readItems(hidden.map((slot) => directory.recnoOf(slot)));
    stored.forEach(({ vector }, i) => kept.set(hidden[i], vector));
    return kept;
  }

  /** What the planning of writes that are done once needs; null: there are none. */
  private async dedupOf(requests: ShardOperation[][]): Promise<DedupTable | null> {
    const operations: DedupOperation[] = [];
    for (const request of requests) {
      const [first] = request;
      if (first?.type !== 'dedup') continue;
      if (first.term === NO_TERM) operations.push(first);
      else for (const operation of request) if (operation.type === 'dedup') operations.push(operation);
    }
    if (operations.length === 0) return null;
    const { marks } = this.parts.records;
    this.dedupUsage ??= await marks.usage();
    return DedupTable.read(marks, this.dedupUsage, operations);
  }

  /**
   * Stored texts, by record number, of the items that an operation updates without giving a text, or changes only if
   * they have some words.
   */
  private async textsToKeep(requests: ShardOperation[][]): Promise<Map<number, string | null>> {
    const { directory } = this.parts.indexes;
    const recnos = new Set<number>();
    for (const operations of requests) {
      for (const operation of operations) {
        if (!asksText(operation)) continue;
        const slot = directory.storedSlotOf(operation.externalId);
        if (slot >= 0 && directory.hasText(slot)) recnos.add(directory.recnoOf(slot));
      }
    }
    if (recnos.size === 0) return new Map();
    const wanted = [...recnos];
    const found = await this.parts.records.readTexts(wanted);
    return new Map(wanted.map((recno, i) => [recno, found[i]]));
  }
}

function asksText(operation: ShardOperation): operation is ItemOperation {
  if (operation.type !== 'upsert' && operation.type !== 'patch' && operation.type !== 'delete') return false;
  if (operation.type !== 'upsert' && operation.filter !== undefined && asksWords(operation.filter)) return true;
  return operation.type !== 'delete' && operation.text === undefined;
}

/** What is stored of a gate that has changed, and of what it noted. */
function stageChanges(
  { stageState, changes }: Pick<WritePlan, 'stageState' | 'changes'>,
  before: StageState,
  spec: string,
): KeyValueChange[] {
  const noted = changes.map(({ change, externalId }): KeyValueChange => ({
    type: 'put',
    key: changeKey(change),
    value: Buffer.from(externalId, 'utf16le'),
  }));
  // The number of the last change follows from those that are stored.
  const isStaged =
    stageState.term !== before.term || stageState.stage !== before.stage || stageState.forgotten !== before.forgotten;
  if (!isStaged) return noted;
  return [
    ...noted,
    { type: 'put', key: SPEC_KEY, value: Buffer.from(spec) },
    { type: 'put', key: STAGE_KEY, value: stageToBytes(stageState) },
  ];
}

/** Whether a batch changes several chunks of a document. */
function isOfDocument({ puts, deletes }: WritePlan): boolean {
  if (puts.length + deletes.length < 2) return false;
  for (const { item } of puts) if (isChunkId(item.externalId)) return true;
  for (const { externalId } of deletes) if (isChunkId(externalId)) return true;
  return false;
}

function expires({ puts }: WritePlan): boolean {
  return puts.some(({ item }) => item.expiry !== 0);
}

// Functions with a loop of their own, here and on the way of many items: a loop that is hot has all around it compiled,
// and all that is called there, and for a function as long as commit that takes a fifth of a second. And loops, not
// map(): the arrays of a compiled map() are of another kind than those of one that is not, and whatever was compiled
// for these is compiled again.

function plannedOf(puts: WritePlan['puts']): PlannedItem[] {
  const planned: PlannedItem[] = [];
  for (const { item } of puts) planned.push(item);
  return planned;
}

function indexedOf(
  planned: PlannedItem[],
  prepared: PreparedContent[],
  lastRecno: number,
  slots: SlotAllocator,
): IndexedItem[] {
  const items: IndexedItem[] = [];
  for (let i = 0; i < planned.length; i++) {
    // Written out, here and where items are planned: with spread objects, a load took a tenth longer.
    const { externalId, stamp, version, expiry, dated, metadata, text, vector } = planned[i];
    const { parsed, analysed } = prepared[i];
    items.push({
      slot: slots.allocate(),
      recno: lastRecno + 1 + i,
      externalId,
      stamp,
      version,
      expiry,
      dated,
      metadata,
      parsed,
      analysed,
      text,
      vector,
    });
  }
  return items;
}

function droppedOf({ puts, deletes }: Pick<WritePlan, 'puts' | 'deletes'>): RecordBatch['dropped'] {
  const dropped = deletes.map(({ externalId, prior }) => ({ ...prior, externalId, leavesOrder: true }));
  for (const { item, prior } of puts) {
    if (prior !== null)
      dropped.push({ ...prior, externalId: item.externalId, leavesOrder: prior.stamp !== item.stamp });
  }
  return dropped;
}

function changesOf({ puts, deletes }: Pick<WritePlan, 'puts' | 'deletes'>, items: IndexedItem[]): IndexChange[] {
  const changes: IndexChange[] = deletes.map(({ prior }) => ({ prior, item: null }));
  for (let i = 0; i < puts.length; i++) changes.push({ prior: puts[i].prior, item: items[i] });
  return changes;
}

/** One record per step. */
function* recordsOf(items: IndexedItem[]): Generator<undefined, RecordPack> {
  const room = items.length === 0 ? 0 : recordRoom(items[0]) + RECORD_ROOM_BESIDE;
  const pack = new RecordPack(items.length * room);
  // One kind of keys after the other: a key is inserted into the store's sorted memory from where the one before went.
  for (const item of items) {
    pack.addRecord(item.recno, item);
    yield;
  }
  for (const item of items) {
    pack.addOrder(item);
    yield;
  }
  return pack;
}
