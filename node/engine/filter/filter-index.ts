import type { Filter, JsonObject, WordsCondition } from '../../../shared/contract/filter/filter';
import type { Boosts } from '../../../shared/contract/shard/boosts';
import type { ListedCounts } from './listed-counts';
import type { ListedOrder } from './listed-order';
import type { ItemFacts } from './matches';
import type { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { SlotSet } from '../slots/slot-set';

/** The items of an index, by slot: what its lists don't hold. */
export interface FilteredItems {
  metadataOf: (slot: number) => JsonObject;
  /** What filters ask of items besides; left out: nothing is known, and no such condition is passed. */
  factsOf?: (slot: number) => ItemFacts;
  /** Of those that there are, perhaps twice and in any order; of some thousand at once, at most. */
  slotsOf?: (externalIds: readonly string[]) => Uint32Array;
  /**
   * Those whose words pass; with paths, those that have the words anywhere. In steps: a slot that changes between two
   * may be wrong.
   */
  slotsWithWords?: (condition: WordsCondition) => Generator<undefined, ChunkedSlotSet>;
  /** Finds out which items have a phrase, before it is asked. null: that is known. */
  preparePhrase?: (condition: WordsCondition) => Promise<void> | null;
  /** Of the items that expire from `low` to `high`, in milliseconds since 1970; ascending. */
  slotsExpiring?: (low: number, high: number) => number[];
  /** Of those that were changed then, as bits. In steps, as `slotsWithWords`. */
  slotsUpdated?: (low: number, high: number) => Generator<undefined, Uint32Array>;
}

/**
 * Finds the slots whose metadata match a filter, exactly: `resolve(f)` is the set of slots s for which matches(f,
 * metadata of s) (node/engine/filter/matches.ts) is true. Synchronous; kept in memory, rebuilt or reloaded at the
 * start. Belongs to one thread; others read it through its number.
 */
export interface FilterIndex {
  /** Sets a slot's metadata; the slot must be empty (never set, or removed). */
  put(slot: number, metadata: JsonObject): void;
  /** Removes a slot; `metadata` are those that were put. */
  remove(slot: number, metadata: JsonObject): void;
  /** The matching slots. The caller must not change the set, which keeps its state as of the call. */
  resolve(filter: Filter): SlotSet;
  /**
   * If a filter takes long to resolve, does the work in slices. Await it before `resolve` of that filter. null: nothing
   * to wait for.
   */
  prepare(filter: Filter): Promise<void> | null;
  /**
   * Distinct fields (a key at one place of the nesting, as deep as paths reach) of all items that are indexed by field.
   */
  readonly fieldCount: number;
  /** Paths of those fields, `max` at most. */
  fieldNames(max: number): string[];
  /** The fields of an item's metadata that are not among them, each by a unique name. */
  newFields(metadata: JsonObject): string[];
  /**
   * Counts what the items in the lists have under a path, of those in a bitmap. Some milliseconds for a million slots.
   */
  readonly counts: ListedCounts;
  /**
   * Begins to make what other threads need for boosts by numbers, dates and places
   * (node/engine/vector/shared-boosts.ts), in the time that others leave, unless it is there.
   */
  prepareBoosts(boosts: Boosts): void;
  /** The items in the lists by what they have under a path. */
  readonly order: ListedOrder;
  /** The slots of the items that are in no list: their metadata have to be read. */
  readonly unlistedSlots: SlotSet;
  /** What is known of the words of these slots may be another now. */
  wordsChanged(slots: readonly number[]): void;
  /** Removes the slots from every list, whatever their metadata were: repairs a state loaded from a save. */
  removeEverywhere(slots: SlotSet): void;
  /**
   * The state as chunks of bytes, for `load`. The consumer may let other calls run between chunks. Slots changed
   * meanwhile may be saved in any state; the caller repairs them (removeEverywhere, then put).
   */
  save(): Iterable<Buffer>;
  /**
   * A number by which other threads of the process read the index (node/engine/vector/shared-vectors.ts); the same at
   * each call.
   */
  share(): number;
  readonly memoryBytes: number;
}
