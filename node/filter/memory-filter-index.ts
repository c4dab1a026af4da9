import type { Filter, JsonObject } from '../../shared/filter/filter';
import { filterToText } from '../../shared/filter/filter-text';
import { inTurn, resultOf } from '../../shared/time/work-slices';
import { ByteReader } from '../files/byte-reader';
import { ByteWriter } from '../files/byte-writer';
import { matcherOf } from './matcher';
import { matches } from './matches';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { SlotSet } from '../slots/slot-set';
import { readSlotSet, writeSlotSet } from '../slots/slot-set-codec';
import { FieldNode, type IndexExtent } from './field-node';
import { FilterEvaluation } from './filter-evaluation';
import { readFields, writeFields } from './filter-index-codec';
import type { FilterIndex } from './filter-index';
import { conditionsIn, PreparedFilters } from './prepared-filters';
import { ResolvedFilters } from './resolved-filters';
import { UnlistedMatches } from './unlisted-matches';

export interface MemoryFilterIndexOptions {
  /** The metadata of a slot in the index; called only for items that were left out of the lists (see EXTENT). */
  metadataOf: (slot: number) => JsonObject;
}

/**
 * How much the index may hold. An entry (a distinct key or value) takes about 100 to 500 bytes, so metadata with a
 * thousand keys that no other item has would take twenty times their own size. While the whole index holds more than
 * `entriesFree` + `entriesPerItem` × items, an item that adds more than `entriesPerItem` new entries is left out of the
 * lists. Filters read its metadata instead (see UnlistedMatches): a new filter waits for that, in slices, but its
 * result is never wrong.
 */
const EXTENT = { entriesFree: 262_144, entriesPerItem: 64 };

/**
 * How many items outside the lists a filter may read at once: parsing the metadata of one takes up to some hundred
 * microseconds.
 */
const READ_AT_ONCE_MAX = 16;
/**
 * `slotsRead`: conditions times slots up to which a filter is evaluated at once; a range over a million slots takes a
 * millisecond. `conditions`: how many conditions are always evaluated at once; each takes at least some microseconds.
 */
const AT_ONCE = { slotsRead: 16_000_000, conditions: 64 };

const SAVE_MAGIC = 0x31494651;

/** The FilterIndex in memory: for each key a dictionary from value to slots. Exact, by set algebra. */
export class MemoryFilterIndex implements FilterIndex {
  private readonly metadataOf: (slot: number) => JsonObject;
  private readonly extent: IndexExtent = { entries: 0, fields: 0, slotLimit: 0 };
  private readonly root = new FieldNode(this.extent);
  private readonly resolved = new ResolvedFilters();
  private readonly prepared = new PreparedFilters();
  /** The slots that are in the lists. */
  private all = new ChunkedSlotSet();
  /** The slots whose metadata are read instead. */
  private unlisted = new ChunkedSlotSet();
  /** Which of those match recent filters. */
  private readonly unlistedMatches = new UnlistedMatches();

  constructor(options: MemoryFilterIndexOptions) {
    this.metadataOf = options.metadataOf;
  }

  /**
   * An index from the joined chunks of `save`. Errors: those of malformed bytes, as a plain Error; the caller then
   * rebuilds.
   */
  static load(bytes: Buffer, options: MemoryFilterIndexOptions): MemoryFilterIndex {
    return resultOf(MemoryFilterIndex.loadInSteps(bytes, options));
  }

  /** Like `load`, in steps. */
  static *loadInSteps(bytes: Buffer, options: MemoryFilterIndexOptions): Generator<undefined, MemoryFilterIndex> {
    const index = new MemoryFilterIndex(options);
    const reader = new ByteReader(bytes);
    if (reader.u32() !== SAVE_MAGIC) throw new Error('saved filter index: unknown format');
    index.all = readSlotSet(reader);
    index.unlisted = readSlotSet(reader);
    yield* readFields(index.root, reader, index.extent);
    index.extent.slotLimit = reader.u32() + 1;
    if (reader.u32() !== SAVE_MAGIC || !reader.atEnd) throw new Error('saved filter index: bytes after its end');
    return index;
  }

  put(slot: number, metadata: JsonObject): void {
    this.resolved.clear();
    this.prepared.slotChanged(slot);
    if (slot >= this.extent.slotLimit) this.extent.slotLimit = slot + 1;
    const before = this.extent.entries;
    this.all.add(slot);
    this.root.putMembers(metadata, slot);
    if (this.extent.entries - before > EXTENT.entriesPerItem && this.isFull()) {
      this.root.removeMembers(metadata, slot);
      this.all.remove(slot);
      this.unlisted.add(slot);
      this.unlistedMatches.put(slot, metadata);
    }
  }

  remove(slot: number, metadata: JsonObject): void {
    this.resolved.clear();
    this.prepared.slotChanged(slot);
    if (this.unlisted.remove(slot)) {
      this.unlistedMatches.remove(slot);
      return;
    }
    if (this.all.remove(slot)) this.root.removeMembers(metadata, slot);
  }

  prepare(filter: Filter): Promise<void> | null {
    const conditions = conditionsIn(filter);
    const isLong = conditions > AT_ONCE.conditions || conditions * this.extent.slotLimit > AT_ONCE.slotsRead;
    const readsMany = this.unlisted.size > READ_AT_ONCE_MAX;
    if (!isLong && !readsMany) return null;
    return this.prepareLong(filter, isLong);
  }

  private async prepareLong(filter: Filter, isLong: boolean): Promise<void> {
    const key = await inTurn(() => filterToText(filter));
    if (this.resolved.get(key) !== undefined) return;
    const readsMany = this.unlisted.size > READ_AT_ONCE_MAX;
    const isMatch = matcherOf(filter);
    await Promise.all([
      readsMany ? this.unlistedMatches.prepare(key, filter, { slots: () => this.unlisted, metadataOf: this.metadataOf }) : null,
      isLong ? this.prepared.prepare(key, this.evaluation().steps(filter), (slot) => this.all.has(slot) && isMatch(this.metadataOf(slot))) : null,
    ]);
  }

  get fieldCount(): number {
    return this.extent.fields;
  }

  newFields(metadata: JsonObject): string[] {
    const names: string[] = [];
    this.root.visitNewFields(metadata, (name) => names.push(name));
    return names;
  }

  resolve(filter: Filter): SlotSet {
    const key = filterToText(filter);
    const known = this.resolved.get(key);
    if (known !== undefined) return known;
    const found = this.prepared.get(key) ?? this.evaluation().evaluate(filter);
    const read = this.unlistedMatches.get(key);
    if (read !== undefined) found.orInPlace(read);
    else this.unlisted.forEach((slot) => matches(filter, this.metadataOf(slot)) && found.add(slot));
    this.resolved.set(key, found);
    return found;
  }

  removeEverywhere(slots: SlotSet): void {
    this.resolved.clear();
    const gone = ChunkedSlotSet.from(slots);
    gone.forEach((slot) => this.prepared.slotChanged(slot));
    this.all.andNotInPlace(gone);
    this.unlisted.andNotInPlace(gone);
    gone.forEach((slot) => this.unlistedMatches.remove(slot));
    this.root.removeEverywhere(gone);
  }

  *save(): Generator<Buffer> {
    const writer = new ByteWriter();
    writer.u32(SAVE_MAGIC);
    writeSlotSet(this.all, writer);
    writeSlotSet(this.unlisted, writer);
    yield* writeFields(this.root, writer);
    // Written last, so that it is above slots that were put during the save, too.
    writer.u32(Math.max(0, this.extent.slotLimit - 1));
    writer.u32(SAVE_MAGIC);
    yield writer.take();
  }

  /** An estimate, accurate to some tens of percent. */
  get memoryBytes(): number {
    return this.root.memoryBytes() + this.all.memoryBytes + this.unlisted.memoryBytes + this.resolved.memoryBytes + this.prepared.memoryBytes;
  }

  private evaluation(): FilterEvaluation {
    return new FilterEvaluation({ root: this.root, all: this.all, extent: this.extent });
  }

  private isFull(): boolean {
    return this.extent.entries > EXTENT.entriesFree + EXTENT.entriesPerItem * this.all.size;
  }
}
