import type { JsonObject, JsonValue, RangeOperator } from '../../shared/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { type CompositeKeys, compositeKeys } from './composite-keys';
import { isJsonObject, PATH_DEPTH_MAX } from './metadata-path';
import { NumberColumn } from './number-column';
import { NO_SLOTS, type Posting, postingSize, postingWith, postingWithout, postingWithoutAll } from './posting';
import { PostingUnion } from './posting-union';
import { ValueDictionary } from './value-dictionary';
import { stringKey } from './value-key';

/** What the nodes of one index share. */
export interface IndexExtent {
  /** Number of nodes and distinct values. */
  entries: number;
  /** Number of nodes alone. */
  fields: number;
  /** Above every slot ever put. */
  slotLimit: number;
}

/**
 * A range visits the distinct numbers in it if there are fewer than one for this many slots; otherwise it reads a
 * column. Visiting a number and its slots costs about ten times as much as examining one slot of a column.
 */
const COLUMN_SLOTS_PER_NUMBER = 8;
/** With fewer distinct numbers than this, a column is never worth its memory. */
const COLUMN_NUMBERS_MIN = 4_096;
const NO_CHILDREN: ReadonlyMap<string, FieldNode> = new Map();

/**
 * One metadata key at one place of the nesting: the slots that have it, by value, and the keys inside it. The nodes of
 * an index form a tree along the keys, so a key is stored once, however many keys are inside it.
 */
export class FieldNode {
  present: Posting = NO_SLOTS;
  nulls: Posting = NO_SLOTS;
  trues: Posting = NO_SLOTS;
  falses: Posting = NO_SLOTS;
  numbers: ValueDictionary<number> | null = null;
  strings: ValueDictionary<string> | null = null;
  /** Objects and arrays as a whole, by composite key. */
  composites: ValueDictionary<string> | null = null;
  /** The keys inside it; most fields have none. */
  private inner: Map<string, FieldNode> | null = null;
  private column: NumberColumn | null = null;

  constructor(private readonly extent: IndexExtent) {}

  get children(): ReadonlyMap<string, FieldNode> {
    return this.inner ?? NO_CHILDREN;
  }

  /**
   * Adds the members of an object. `depth` is the number of keys above them; `keys` are the composite keys of the
   * enclosing value, if it has any.
   */
  putMembers(object: JsonObject, slot: number, depth = 0, keys?: CompositeKeys): void {
    if (depth >= PATH_DEPTH_MAX) return;
    for (const key of Object.keys(object)) this.childOf(key).put(object[key], slot, depth + 1, keys);
  }

  removeMembers(object: JsonObject, slot: number, depth = 0, keys?: CompositeKeys): void {
    if (depth >= PATH_DEPTH_MAX) return;
    for (const key of Object.keys(object)) {
      const child = this.children.get(key);
      if (child === undefined) continue;
      child.remove(object[key], slot, depth + 1, keys);
      if (child.isEmpty()) this.drop(key);
    }
  }

  /** The child for that key; made if it does not exist. */
  childOf(key: string): FieldNode {
    let child = this.children.get(key);
    if (child === undefined) {
      child = new FieldNode(this.extent);
      (this.inner ??= new Map()).set(key, child);
      this.extent.entries++;
      this.extent.fields++;
    }
    return child;
  }

  /** Calls `visit` with a name for each of the object's fields that has no node; `prefix` is the name of this one. */
  visitNewFields(object: JsonObject, visit: (name: string) => void, prefix = '', depth = 0): void {
    if (depth >= PATH_DEPTH_MAX) return;
    for (const key of Object.keys(object)) {
      const child = this.children.get(key);
      const value = object[key];
      const isNested = isJsonObject(value);
      if (child !== undefined && !isNested) continue;
      const name = fieldName(prefix, key);
      if (child === undefined) visit(name);
      if (isNested) (child ?? NO_FIELD).visitNewFields(value, visit, name, depth + 1);
    }
  }

  removeEverywhere(slots: ChunkedSlotSet): void {
    this.column = null;
    this.present = postingWithoutAll(this.present, slots);
    this.nulls = postingWithoutAll(this.nulls, slots);
    this.trues = postingWithoutAll(this.trues, slots);
    this.falses = postingWithoutAll(this.falses, slots);
    for (const dictionary of this.dictionaries()) this.extent.entries -= dictionary.removeAll(slots);
    for (const [key, child] of this.children) {
      child.removeEverywhere(slots);
      if (child.isEmpty()) this.drop(key);
    }
  }

  /** The slots whose value equals `value` or is an array that contains it (node/filter/matches.ts). */
  equal(value: JsonValue): Posting {
    switch (typeof value) {
      case 'number':
        return this.numbers?.get(value) ?? NO_SLOTS;
      case 'string':
        return this.strings?.get(stringKey(value)) ?? NO_SLOTS;
      case 'boolean':
        return value ? this.trues : this.falses;
      default:
        break;
    }
    if (value === null) return this.nulls;
    const key = compositeKeys(value).get(value);
    return key === undefined ? NO_SLOTS : (this.composites?.get(key) ?? NO_SLOTS);
  }

  range(operator: RangeOperator, bound: number | string): ChunkedSlotSet {
    const union = new PostingUnion(this.extent.slotLimit);
    if (typeof bound === 'string') {
      this.strings?.collectRange(operator, bound, union);
      return union.finish();
    }
    if (this.numberColumn() !== null) return (this.column as NumberColumn).inRange(operator, bound);
    this.numbers?.collectRange(operator, bound, union);
    return union.finish();
  }

  /** Those of a few given slots that are in the range; checked slot by slot if a column allows that. */
  rangeWithin(slots: ChunkedSlotSet, operator: RangeOperator, bound: number | string): ChunkedSlotSet {
    const column = typeof bound === 'number' ? this.numberColumn() : null;
    return column === null ? slots.and(this.range(operator, bound)) : column.select(slots, operator, bound as number);
  }

  presentCount(): number {
    return postingSize(this.present);
  }

  isEmpty(): boolean {
    return this.present === NO_SLOTS && this.children.size === 0;
  }

  memoryBytes(): number {
    /** The node and its entry in its parent's map. */
    let bytes = 400 + (this.column?.memoryBytes ?? 0);
    for (const posting of [this.present, this.nulls, this.trues, this.falses]) {
      if (typeof posting !== 'number') bytes += posting.memoryBytes;
    }
    for (const dictionary of this.dictionaries()) bytes += dictionary.memoryBytes(this.extent.slotLimit);
    for (const [key, child] of this.children) bytes += 2 * key.length + child.memoryBytes();
    return bytes;
  }

  private put(value: JsonValue, slot: number, depth: number, outerKeys?: CompositeKeys): void {
    this.present = postingWith(this.present, slot);
    if (typeof value !== 'object' || value === null) {
      this.putScalar(value, slot);
      return;
    }
    const keys = outerKeys ?? compositeKeys(value);
    const key = keys.get(value);
    if (key !== undefined) this.addTo((this.composites ??= new ValueDictionary<string>()), key, slot);
    if (isJsonObject(value)) this.putMembers(value, slot, depth, keys);
    else for (const element of value) this.putScalar(element, slot);
  }

  private putScalar(value: JsonValue, slot: number): void {
    if (typeof value === 'string') this.addTo((this.strings ??= new ValueDictionary<string>()), stringKey(value), slot);
    else if (typeof value === 'number') {
      this.addTo((this.numbers ??= new ValueDictionary<number>()), value, slot);
      this.column?.add(slot, value);
    } else if (value === null) this.nulls = postingWith(this.nulls, slot);
    else if (value === true) this.trues = postingWith(this.trues, slot);
    else if (value === false) this.falses = postingWith(this.falses, slot);
  }

  private remove(value: JsonValue, slot: number, depth: number, outerKeys?: CompositeKeys): void {
    this.present = postingWithout(this.present, slot);
    this.column?.clear(slot);
    if (typeof value !== 'object' || value === null) {
      this.removeScalar(value, slot);
      return;
    }
    const keys = outerKeys ?? compositeKeys(value);
    const key = keys.get(value);
    if (key !== undefined && this.composites?.remove(key, slot)) this.extent.entries--;
    if (isJsonObject(value)) this.removeMembers(value, slot, depth, keys);
    else for (const element of value) this.removeScalar(element, slot);
  }

  private removeScalar(value: JsonValue, slot: number): void {
    if (typeof value === 'string') {
      if (this.strings?.remove(stringKey(value), slot)) this.extent.entries--;
    } else if (typeof value === 'number') {
      if (this.numbers?.remove(value, slot)) this.extent.entries--;
    } else if (value === null) this.nulls = postingWithout(this.nulls, slot);
    else if (value === true) this.trues = postingWithout(this.trues, slot);
    else if (value === false) this.falses = postingWithout(this.falses, slot);
  }

  private addTo<K extends number | string>(dictionary: ValueDictionary<K>, key: K, slot: number): void {
    if (dictionary.add(key, slot)) this.extent.entries++;
  }

  /** The column, if there are enough distinct numbers for one; made at the first range that needs it. */
  private numberColumn(): NumberColumn | null {
    const count = this.numbers?.size ?? 0;
    if (count < COLUMN_NUMBERS_MIN || count < this.extent.slotLimit / COLUMN_SLOTS_PER_NUMBER) {
      this.column = null;
      return null;
    }
    if (this.column !== null) return this.column;
    const column = new NumberColumn(this.extent.slotLimit);
    this.numbers?.forEach((value, posting) => {
      if (typeof posting === 'number') column.add(posting, value);
      else posting.forEach((slot) => column.add(slot, value));
    });
    this.column = column;
    return column;
  }

  private drop(key: string): void {
    this.inner?.delete(key);
    this.extent.entries--;
    this.extent.fields--;
  }

  private dictionaries(): ValueDictionary<never>[] {
    return [this.numbers, this.strings, this.composites].filter((d) => d !== null) as unknown as ValueDictionary<never>[];
  }
}

/** A field without values, used for what is inside new fields. */
const NO_FIELD = new FieldNode({ entries: 0, fields: 0, slotLimit: 0 });

/** The length prefix makes names unique, whatever the keys contain. */
function fieldName(prefix: string, key: string): string {
  return `${prefix}${key.length}:${key}`;
}
