import type { Filter, JsonObject } from '../../shared/filter/filter';
import type { SlotSet } from '../slots/slot-set';

/**
 * Finds the slots whose metadata matches a filter, exactly: `resolve(f)` is the set of slots s for which
 * matches(f, metadata of s) (node/filter/matches.ts) holds.
 * Synchronous and single-threaded; kept in memory, rebuilt or reloaded at start.
 */
export interface FilterIndex {
  /** Sets a slot's metadata; the slot must be empty (never set, or removed). */
  put(slot: number, metadata: JsonObject): void;
  /** Takes a slot out; `metadata` is what was put. */
  remove(slot: number, metadata: JsonObject): void;
  /** The matching slots. The set is the caller's to read, not to change, and stays as it was at the call. */
  resolve(filter: Filter): SlotSet;
  /**
   * To be awaited before `resolve` of that filter, or null when there is nothing to wait for: answering it takes long, and
   * the work is done in slices.
   */
  prepare(filter: Filter): Promise<void> | null;
  /** Distinct fields (a key at one place of the nesting, as far as paths reach) of all items indexed by field. */
  readonly fieldCount: number;
  /** The fields of an item's metadata that are not among them, each by a name of its own. */
  newFields(metadata: JsonObject): string[];
  /** Takes the slots out of every list, whatever their metadata was: repairs a state loaded from a save. */
  removeEverywhere(slots: SlotSet): void;
  /**
   * The state as chunks of bytes, for `load`. The consumer may let other calls run between chunks; slots touched in the
   * meantime may be saved in any state and are repaired by the caller (removeEverywhere, then put).
   */
  save(): Iterable<Buffer>;
  readonly memoryBytes: number;
}
