import type { RangeOperator } from '../../shared/filter/filter';
import type { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { KeyTable } from './key-table';
import { inRange } from './matches';
import { NO_SLOTS, type Posting, postingSize, postingUnion, postingWith, postingWithout, postingWithoutAll } from './posting';
import type { PostingUnion } from './posting-union';
import { SortedKeys } from './sorted-keys';

/** Up to this many distinct keys may be tested one by one for a range; more are sorted. */
const TESTED_ONE_BY_ONE_MAX = 4_096;

/**
 * The values of one type under one path: value → the slots that have it. A value's id is its index in the table's keys
 * and in `postings`. Ids of values that no slot has any more are reused.
 */
export class ValueDictionary<K extends number | string> {
  private readonly table = new KeyTable<K>();
  private readonly postings: Posting[] = [];
  private free: number[] = [];
  /** Made at the first range over many values, so that identifiers that nobody compares cost nothing. */
  private order: SortedKeys<K> | null = null;
  /** Ids whose value is gone but that `order` still holds: their keys must stay in place. */
  private retired: number[] = [];
  private slotCount = 0;
  private characters = 0;

  /** Number of distinct values. */
  get size(): number {
    return this.table.size;
  }

  get(key: K): Posting {
    const id = this.table.find(key);
    return id < 0 ? NO_SLOTS : this.postings[id];
  }

  /** Answers whether the value is new. */
  add(key: K, slot: number): boolean {
    this.slotCount++;
    const id = this.idOf(key);
    const posting = this.postings[id];
    this.postings[id] = postingWith(posting, slot);
    return posting === NO_SLOTS;
  }

  /** Answers whether no slot has the value any more. */
  remove(key: K, slot: number): boolean {
    const id = this.table.find(key);
    if (id < 0) return false;
    this.slotCount = Math.max(0, this.slotCount - 1);
    this.postings[id] = postingWithout(this.postings[id], slot);
    if (this.postings[id] !== NO_SLOTS) return false;
    this.release(id);
    return true;
  }

  /** Adds a saved posting and takes ownership of it. Answers whether the value is new. */
  merge(key: K, posting: Posting): boolean {
    this.slotCount += postingSize(posting);
    const id = this.idOf(key);
    const before = this.postings[id];
    this.postings[id] = postingUnion(before, posting);
    return before === NO_SLOTS;
  }

  /** Removes the slots from every value. Answers how many values are gone. */
  removeAll(slots: ChunkedSlotSet): number {
    let gone = 0;
    this.slotCount = 0;
    for (let id = 0; id < this.postings.length; id++) {
      if (this.postings[id] === NO_SLOTS) continue;
      this.postings[id] = postingWithoutAll(this.postings[id], slots);
      this.slotCount += postingSize(this.postings[id]);
      if (this.postings[id] !== NO_SLOTS) continue;
      this.release(id);
      gone++;
    }
    return gone;
  }

  /** Adds the slots of every value on the right side of the bound to `union`. */
  collectRange(operator: RangeOperator, bound: K, union: PostingUnion): void {
    if (this.order === null && this.table.size > TESTED_ONE_BY_ONE_MAX) {
      this.order = new SortedKeys(this.table.keys);
      this.forEach((_key, _posting, id) => this.order?.add(id));
    }
    if (this.order !== null) this.order.forEachInRange(operator, bound, (id) => union.add(this.postings[id]));
    else this.forEach((key, posting) => inRange(key, operator, bound) && union.add(posting));
  }

  /** Visits every value; `visit` must not change the dictionary. */
  forEach(visit: (key: K, posting: Posting, id: number) => void): void {
    for (let id = 0; id < this.table.keys.length; id++) {
      if (this.postings[id] !== NO_SLOTS) visit(this.table.keys[id], this.postings[id], id);
    }
  }

  /**
   * Up to `count` values with an id from `from` on, and the id to continue with (null at the end). A walk over all
   * pages visits values that keep a slot all the time once, whatever else changes between the pages.
   */
  page(from: number, count: number): { keys: K[]; postings: Posting[]; next: number | null } {
    const keys: K[] = [];
    const postings: Posting[] = [];
    let id = from;
    for (; id < this.table.keys.length && keys.length < count; id++) {
      if (this.postings[id] === NO_SLOTS) continue;
      keys.push(this.table.keys[id]);
      postings.push(this.postings[id]);
    }
    return { keys, postings, next: id < this.table.keys.length ? id : null };
  }

  /** An estimate: exact numbers would need a walk over every value. `slotLimit` is above every slot. */
  memoryBytes(slotLimit: number): number {
    /** The posting and, for strings, the header of the string. */
    const VALUE_BYTES = 32;
    /** The objects and arrays of an empty dictionary. */
    const OWN_BYTES = 450;
    /** A set of many slots takes at most a bitmap, a set of few about 10 bytes per slot. */
    const setBytes = Math.min(10 * this.slotCount, this.table.size * (slotLimit / 8 + 4_096));
    return OWN_BYTES + this.table.memoryBytes + VALUE_BYTES * this.table.size + this.characters + setBytes + (this.order?.memoryBytes ?? 0);
  }

  /** The value's id; a new value gets one without slots. */
  private idOf(key: K): number {
    const next = this.free.length > 0 ? this.free[this.free.length - 1] : this.table.keys.length;
    const id = this.table.findOrInsert(key, next);
    if (id !== next) return id;
    if (this.free.length > 0) this.free.pop();
    this.postings[id] = NO_SLOTS;
    this.order?.add(id);
    if (typeof key === 'string') this.characters += key.length;
    return id;
  }

  private release(id: number): void {
    const key = this.table.keys[id];
    this.table.remove(id);
    if (typeof key === 'string') this.characters -= key.length;
    if (this.order === null) {
      this.recycle(id);
      return;
    }
    this.retired.push(id);
    if (this.retired.length <= TESTED_ONE_BY_ONE_MAX + this.table.size / 2) return;
    this.order = null;
    for (const gone of this.retired) this.recycle(gone);
    this.retired = [];
  }

  private recycle(id: number): void {
    this.table.blank(id);
    this.free.push(id);
  }
}
