import { type Filter, isCondition, type JsonObject } from '../../../shared/contract/filter/filter';
import { filterToText } from '../../../shared/contract/filter/filter-text';
import { inLaterSlices, inTurn, resultOf } from '../../../shared/base/time/work-slices';
import type { Boosts } from '../../../shared/contract/shard/boosts';
import { boostProgram } from './boost-program';
import { PathConditions } from './path-conditions';
import { ByteReader } from '../files/byte-reader';
import { ByteWriter } from '../files/byte-writer';
import { nativeBinding } from '../vector/native-binding';
import { matcherOf } from './matcher';
import { type ItemFacts, matches } from './matches';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { FoundSlotSet } from '../slots/found-slot-set';
import type { SlotSet } from '../slots/slot-set';
import { readSlotSet, writeSlotSet } from '../slots/slot-set-codec';
import { FieldNode, type FieldTree } from './field-node';
import { FilterEvaluation } from './filter-evaluation';
import { readFields, writeFields } from './filter-index-codec';
import type { FilteredItems, FilterIndex } from './filter-index';
import { type FilterNeeds, filterNeeds, isInLists } from './filter-needs';
import { filterProgram } from './filter-program';
import { FilterWords } from './filter-words';
import { ListedCounts } from './listed-counts';
import { ListedOrder } from './listed-order';
import { LongTexts, longTextOf } from './long-texts';
import { conditionsIn, PreparedFilters } from './prepared-filters';
import { ResolvedFilters } from './resolved-filters';
import { UnlistedMatches } from './unlisted-matches';

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

/** So many take some hundred microseconds. */
const SLOTS_ORDERED_AT_ONCE = 2_048;

const SAVE_MAGIC = 0x31494651;

/**
 * The FilterIndex in memory, exact by set algebra: a tree of fields, and for each, in the addon, a dictionary from
 * value to slots, which other threads read, too.
 */
export class MemoryFilterIndex implements FilterIndex {
  private readonly metadataOf: (slot: number) => JsonObject;
  private readonly paths: PathConditions;
  private readonly native = new (nativeBinding().FilterIndex)();
  private readonly words = new FilterWords();
  private readonly tree: FieldTree = { native: this.native, words: this.words, fields: 0 };
  private readonly root = new FieldNode(this.tree, 0);
  private readonly resolved = new ResolvedFilters();
  private readonly prepared = new PreparedFilters();
  /** The slots whose metadata are read instead of lists. */
  private unlisted = new ChunkedSlotSet();
  /** Which of those match recent filters. */
  private readonly unlistedMatches = new UnlistedMatches();
  private readonly longTexts: LongTexts;
  readonly counts: ListedCounts;
  readonly order = new ListedOrder(this.native);
  private isOrdering = false;
  /** Number of fields and distinct values. */
  private entries = 0;
  /** Above every slot ever put. */
  private slotLimit = 0;

  /**
   * Settles when numbers that were asked for ranges are in order (node/engine/native/lists/number_order.h); until then
   * ranges compare one by one.
   */
  ordered: Promise<void> = Promise.resolve();

  /** The same of what boosts look at. */
  boostsMade: Promise<void> = Promise.resolve();

  constructor(private readonly items: FilteredItems) {
    this.metadataOf = items.metadataOf;
    this.longTexts = new LongTexts({ native: this.native, metadataOf: this.metadataOf });
    this.counts = new ListedCounts(this.native, (slot, path, key) => longTextOf(this.metadataOf(slot), path, key));
    this.paths = new PathConditions({
      newLists: () => new (nativeBinding().FilterIndex)(),
      has: (slot) => this.native.has(slot),
      metadataOf: this.metadataOf,
      resolve: (filter) => this.listed(filter).toChunked(),
    });
  }

  /**
   * An index from the joined chunks of `save`. Errors: those of malformed bytes, as a plain Error; the caller then
   * rebuilds.
   */
  static load(bytes: Buffer, options: FilteredItems): MemoryFilterIndex {
    return resultOf(MemoryFilterIndex.loadInSteps(bytes, options));
  }

  /** Like `load`, in steps. */
  static *loadInSteps(bytes: Buffer, options: FilteredItems): Generator<undefined, MemoryFilterIndex> {
    const index = new MemoryFilterIndex(options);
    const { native } = index;
    const reader = new ByteReader(bytes);
    if (reader.u32() !== SAVE_MAGIC) throw new Error('saved filter index: unknown format');
    reader.lend((saved, from) => native.loadSlots(saved, from));
    index.unlisted = readSlotSet(reader);
    native.setUnlisted(index.unlisted.size);
    yield* readFields(index.root, reader, native);
    index.slotLimit = reader.u32() + 1;
    native.setSlotLimit(index.slotLimit);
    if (reader.u32() !== SAVE_MAGIC || !reader.atEnd) throw new Error('saved filter index: bytes after its end');
    index.root.recount();
    index.entries = native.entries();
    return index;
  }

  put(slot: number, metadata: JsonObject): void {
    this.resolved.clear();
    this.prepared.slotChanged(slot);
    if (slot >= this.slotLimit) this.slotLimit = slot + 1;
    const before = this.entries;
    this.applyPut(slot, metadata);
    if (this.entries - before > EXTENT.entriesPerItem && this.isFull()) {
      this.unlisted.add(slot);
      this.native.setUnlisted(this.unlisted.size);
      this.applyRemove(slot, metadata);
      this.unlistedMatches.put(slot, metadata, this.factsOf(slot));
    } else this.paths.put(slot, metadata);
  }

  remove(slot: number, metadata: JsonObject): void {
    this.resolved.clear();
    this.prepared.slotChanged(slot);
    if (this.unlisted.remove(slot)) {
      this.native.setUnlisted(this.unlisted.size);
      this.unlistedMatches.remove(slot);
      return;
    }
    if (!this.native.has(slot)) return;
    this.applyRemove(slot, metadata);
    this.paths.remove(slot, metadata);
  }

  prepare(filter: Filter): Promise<void> | null {
    const needs = filterNeeds(filter);
    const looking = needs.phrases.flatMap((phrase) => this.items.preparePhrase?.(phrase) ?? []);
    if (looking.length === 0) return this.prepareLists(filter, needs);
    return Promise.all(looking).then(() => this.prepareLists(filter, needs) ?? undefined);
  }

  prepareBoosts(boosts: Boosts): void {
    const program = boostProgram(boosts);
    const { native } = this;
    // Who asks for items that are in no list is answered by their metadata.
    if (program === null || this.unlisted.size > 0 || !native.makeBoostValues(program, program.length)) return;
    const steps = function* (): Generator<undefined, void> {
      while (native.makeBoostValues(program, program.length)) yield;
    };
    // What runs out of memory is tried again with the next boosts.
    this.boostsMade = this.boostsMade.then(() => inLaterSlices(steps())).catch(() => undefined);
  }

  wordsChanged(slots: readonly number[]): void {
    this.resolved.clear();
    for (const slot of slots) {
      this.prepared.slotChanged(slot);
      if (this.unlisted.has(slot)) this.unlistedMatches.wordsChanged(slot, this.metadataOf, this.factsOf(slot));
    }
  }

  private prepareLists(filter: Filter, needs: FilterNeeds): Promise<void> | null {
    const conditions = conditionsIn(filter);
    const isLong = conditions > AT_ONCE.conditions || conditions * this.slotLimit > AT_ONCE.slotsRead;
    const readsMany = this.unlisted.size > READ_AT_ONCE_MAX;
    const making = needs.texts || needs.paths ? this.makeFor(filter, needs) : null;
    if (making !== null)
      return making.then(() => this.prepareLong(filter, isLong || needs.steps || this.readsManyTexts(filter)));
    if (!isLong && !readsMany && !needs.steps) return null;
    return this.prepareLong(filter, isLong || needs.steps);
  }

  /** Makes what the filter profits from besides lists of values; null: it is there. */
  private makeFor(filter: Filter, { texts, paths }: FilterNeeds): Promise<unknown> | null {
    if (this.resolved.get(filterToText(filter)) !== undefined) return null;
    const waits = [texts ? this.prepareTexts(filter) : null, paths ? this.paths.prepare(filter) : null];
    const begun = waits.filter((wait) => wait !== null);
    return begun.length > 0 ? Promise.all(begun) : null;
  }

  /** Makes what searches in texts profit from; null: it is there, and few metadata have to be read. */
  private prepareTexts(filter: Filter): Promise<void> | null {
    const program = filterProgram(isInLists(filter) ? filter : textsOf(filter));
    const { native } = this;
    if (!native.prepare(program, program.length)) return this.readsManyTexts(filter) ? Promise.resolve() : null;
    return inLaterSlices(
      (function* (): Generator<undefined, void> {
        while (native.prepare(program, program.length)) yield;
      })(),
    );
  }

  private readsManyTexts(filter: Filter): boolean {
    return this.longTexts.count(filter) > READ_AT_ONCE_MAX;
  }

  private found(filter: Filter): ChunkedSlotSet | FoundSlotSet {
    const { texts, paths, items } = filterNeeds(filter);
    if (!paths && !items && !(texts && this.longTexts.count(filter) > 0)) return this.listed(filter);
    return resultOf(this.evaluation().steps(filter));
  }

  private async prepareLong(filter: Filter, isLong: boolean): Promise<void> {
    const key = await inTurn(() => filterToText(filter));
    if (this.resolved.get(key) !== undefined) return;
    const readsMany = this.unlisted.size > READ_AT_ONCE_MAX;
    const isMatch = matcherOf(filter);
    await Promise.all([
      readsMany
        ? this.unlistedMatches.prepare(key, filter, {
            slots: () => this.unlisted,
            metadataOf: this.metadataOf,
            factsOf: (slot) => this.factsOf(slot),
          })
        : null,
      isLong
        ? this.prepared.prepare(
            key,
            this.evaluation().steps(filter),
            (slot) => this.native.has(slot) && isMatch(this.metadataOf(slot), this.factsOf(slot)),
          )
        : null,
    ]);
  }

  get unlistedSlots(): SlotSet {
    return this.unlisted;
  }

  get fieldCount(): number {
    return this.tree.fields;
  }

  fieldNames(max: number): string[] {
    return this.root.paths(max);
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
    const found = this.prepared.get(key) ?? this.found(filter);
    if (this.unlisted.size > 0) return this.withUnlisted(key, filter, found);
    this.resolved.set(key, found);
    return found;
  }

  removeEverywhere(slots: SlotSet): void {
    this.resolved.clear();
    const gone = ChunkedSlotSet.from(slots);
    gone.forEach((slot) => this.prepared.slotChanged(slot));
    this.unlisted.andNotInPlace(gone);
    gone.forEach((slot) => this.unlistedMatches.remove(slot));
    this.paths.clear();
    this.native.removeEverywhere(gone.toBitmap(0));
    this.native.setUnlisted(this.unlisted.size);
    this.root.recount();
    this.entries = this.native.entries();
  }

  share(): number {
    return this.native.share();
  }

  *save(): Generator<Buffer> {
    const writer = new ByteWriter();
    writer.u32(SAVE_MAGIC);
    writer.bytes(this.native.savedSlots());
    writeSlotSet(this.unlisted, writer);
    yield* writeFields(this.root, writer, this.native);
    // Written last, so that it is above slots that were put during the save, too.
    writer.u32(Math.max(0, this.slotLimit - 1));
    writer.u32(SAVE_MAGIC);
    yield writer.take();
  }

  /** An estimate, accurate to some tens of percent. */
  get memoryBytes(): number {
    return (
      this.native.memoryBytes() +
      this.root.memoryBytes() +
      this.unlisted.memoryBytes +
      this.resolved.memoryBytes +
      this.prepared.memoryBytes +
      this.paths.memoryBytes
    );
  }

  private withUnlisted(key: string, filter: Filter, listed: ChunkedSlotSet | FoundSlotSet): SlotSet {
    const found = listed instanceof FoundSlotSet ? listed.toChunked() : listed;
    // What is asked of the item itself tells of them, too, but not what lists are asked beside it.
    found.andNotInPlace(this.unlisted);
    const read = this.unlistedMatches.get(key);
    if (read !== undefined) found.orInPlace(read);
    else this.unlisted.forEach((slot) => matches(filter, this.metadataOf(slot), this.factsOf(slot)) && found.add(slot));
    this.resolved.set(key, found);
    return found;
  }

  private applyPut(slot: number, metadata: JsonObject): void {
    const { words } = this;
    words.clear();
    words.word(slot);
    words.word(1);
    this.root.putMembers(metadata);
    this.entries = this.native.apply(words.words, words.length);
  }

  private applyRemove(slot: number, metadata: JsonObject): void {
    const { words } = this;
    words.clear();
    words.word(slot);
    words.word(0);
    this.root.removeMembers(metadata);
    this.native.apply(words.words, words.length);
    this.root.dropMembers(metadata);
    this.entries = this.native.entries();
  }

  private factsOf(slot: number): ItemFacts | undefined {
    return this.items.factsOf?.(slot);
  }

  private evaluation(): FilterEvaluation {
    return new FilterEvaluation((part) => this.listed(part).toChunked(), {
      longTexts: this.longTexts,
      paths: this.paths,
      items: this.items,
      has: (slot) => this.native.has(slot),
    });
  }

  /** The slots in the lists that match, as far as the lists know. */
  private listed(filter: Filter): FoundSlotSet {
    const program = filterProgram(filter);
    const { listed, words, count } = this.native.resolve(program, program.length);
    if (this.native.wantsOrders() && !this.isOrdering) this.ordered = this.makeOrders();
    return new FoundSlotSet(listed, words, count);
  }

  /** In the time that others leave. What runs out of memory is tried again with the next range. */
  private async makeOrders(): Promise<void> {
    this.isOrdering = true;
    try {
      await inLaterSlices(this.orderSteps());
    } catch {
      // Ranges are worked out without it.
    } finally {
      this.isOrdering = false;
    }
  }

  private *orderSteps(): Generator<undefined, void> {
    while (this.native.orderSome(SLOTS_ORDERED_AT_ONCE)) yield;
  }

  private isFull(): boolean {
    return this.entries > EXTENT.entriesFree + EXTENT.entriesPerItem * this.native.slotCount();
  }
}

/** The tests of texts in a filter. */
function textsOf(filter: Filter): Filter {
  if (isCondition(filter)) return filter.type === 'text' ? filter : { type: 'or', filters: [] };
  return { type: 'or', filters: (filter.type === 'not' ? [filter.filter] : filter.filters).map(textsOf) };
}
