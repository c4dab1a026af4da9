import type { RangeOperator } from '../../shared/filter/filter';
import { inRange } from '../../shared/filter/matches';
import type { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { LargeMap } from './large-map';
import { NO_SLOTS, type Posting, postingSize, postingUnion, postingWith, postingWithout, postingWithoutAll } from './posting';
import type { PostingUnion } from './posting-union';
import { SortedKeys } from './sorted-keys';

/** Values that distinct keys may be tested one by one for a range; more are brought into order. */
const TESTED_ONE_BY_ONE_MAX = 4_096;

/**
 * The values of one type under one path: value → the slots that have it. A value's id is its place in `keys` and
 * `postings`; ids of values that no slot has any more are used again.
 */
export class ValueDictionary<K extends number | string> {
  private readonly ids = new LargeMap<K, number>();
  private readonly keys: K[] = [];
  private readonly postings: Posting[] = [];
  private free: number[] = [];
  /** Made at the first range over many values, so that identifiers nobody compares cost nothing. */
  private order: SortedKeys<K> | null = null;
  /** Ids whose value is gone but which `order` still holds: their keys must stay where they are. */
  private retired: number[] = [];
  private liveCount = 0;
  private slotCount = 0;
  private characters = 0;

  /** Number of distinct values. */
  get size(): number {
    return this.liveCount;
  }

  get(key: K): Posting {
    const id = this.ids.get(key);
    return id === undefined ? NO_SLOTS : this.postings[id];
  }

  /** Says whether the value is new. */
  add(key: K, slot: number): boolean {
    const id = this.ids.get(key);
    this.slotCount++;
    if (id === undefined) {
      this.insert(key, slot);
      return true;
    }
    this.postings[id] = postingWith(this.postings[id], slot);
    return false;
  }

  /** Says whether no slot has the value any more. */
  remove(key: K, slot: number): boolean {
    const id = this.ids.get(key);
    if (id === undefined) return false;
    this.slotCount = Math.max(0, this.slotCount - 1);
    this.postings[id] = postingWithout(this.postings[id], slot);
    if (this.postings[id] !== NO_SLOTS) return false;
    this.release(id);
    return true;
  }

  /** Adds a saved posting, which it takes over; says whether the value is new. */
  merge(key: K, posting: Posting): boolean {
    const id = this.ids.get(key);
    this.slotCount += postingSize(posting);
    if (id === undefined) this.insert(key, posting);
    else this.postings[id] = postingUnion(this.postings[id], posting);
    return id === undefined;
  }

  /** Takes the slots out of every value; answers how many values are gone. */
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
    if (this.order === null && this.liveCount > TESTED_ONE_BY_ONE_MAX) {
      this.order = new SortedKeys(this.keys);
      this.forEach((_key, _posting, id) => this.order?.add(id));
    }
    if (this.order !== null) this.order.forEachInRange(operator, bound, (id) => union.add(this.postings[id]));
    else this.forEach((key, posting) => inRange(key, operator, bound) && union.add(posting));
  }

  /** Visits every value; `visit` must not change the dictionary. */
  forEach(visit: (key: K, posting: Posting, id: number) => void): void {
    for (let id = 0; id < this.keys.length; id++) {
      if (this.postings[id] !== NO_SLOTS) visit(this.keys[id], this.postings[id], id);
    }
  }

  /**
   * Up to `count` values with an id from `from` on, and the id to go on with (null at the end). Values that keep a slot
   * all along are visited once by a walk over all pages, whatever else changes between them.
   */
  page(from: number, count: number): { keys: K[]; postings: Posting[]; next: number | null } {
    const keys: K[] = [];
    const postings: Posting[] = [];
    let id = from;
    for (; id < this.keys.length && keys.length < count; id++) {
      if (this.postings[id] === NO_SLOTS) continue;
      keys.push(this.keys[id]);
      postings.push(this.postings[id]);
    }
    return { keys, postings, next: id < this.keys.length ? id : null };
  }

  /** An estimate: exact figures would need a walk over every value. `slotLimit` is above every slot. */
  memoryBytes(slotLimit: number): number {
    /** Map entry, id arrays and, for strings, the header of the string. */
    const VALUE_BYTES = 90;
    /** A set of many slots holds a bitmap at most, one of few some 10 bytes a slot. */
    const setBytes = Math.min(10 * this.slotCount, this.liveCount * (slotLimit / 8 + 4_096));
    return VALUE_BYTES * this.keys.length + this.characters + setBytes + (this.order?.memoryBytes ?? 0);
  }

  private insert(key: K, posting: Posting): void {
    const id = this.free.pop() ?? this.keys.length;
    this.keys[id] = key;
    this.postings[id] = posting;
    this.ids.insert(key, id);
    this.order?.add(id);
    this.liveCount++;
    if (typeof key === 'string') this.characters += key.length;
  }

  private release(id: number): void {
    const key = this.keys[id];
    this.ids.delete(key);
    this.liveCount--;
    if (typeof key === 'string') this.characters -= key.length;
    if (this.order === null) {
      this.recycle(id);
      return;
    }
    this.retired.push(id);
    if (this.retired.length <= TESTED_ONE_BY_ONE_MAX + this.liveCount / 2) return;
    this.order = null;
    for (const gone of this.retired) this.recycle(gone);
    this.retired = [];
  }

  private recycle(id: number): void {
    /* Lets go of a string without making the arrays of numbers hold anything but numbers. */
    if (typeof this.keys[id] === 'string') this.keys[id] = '' as K;
    this.free.push(id);
  }
}
