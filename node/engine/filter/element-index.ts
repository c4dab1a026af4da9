import type { Filter, JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { FoundSlotSet } from '../slots/found-slot-set';
import type { AddonFilterIndex } from '../vector/native-filters';
import { FIELD, FieldNode, type FieldTree } from './field-node';
import { filterProgram } from './filter-program';
import { FilterWords, VALUE } from './filter-words';
import { LongTexts } from './long-texts';
import { isJsonObject } from '../../../shared/contract/filter/metadata-path';
import type { PathIndex } from './path-index';

/** What is known of the arrays of a path: how many elements they have, the elements' members, or those themselves. */
export type ElementFacts = 'sizes' | 'members' | 'values';

/** Under this name stands the number of elements. */
const SIZE = 'size';
/** Distinct values up to which an index may hold any number of them, and how many for each item beyond that. */
const ENTRIES = { free: 262_144, perItem: 64 };

/**
 * The arrays that items have under one path, in lists like those of a filter index: by their number of elements, or by
 * the values that any of their elements has under each path below it. So it says which items may have an element that
 * passes several conditions; by one condition it says which have.
 */
export class ElementIndex implements PathIndex {
  private readonly words = new FilterWords();
  private readonly tree: FieldTree;
  private readonly root: FieldNode;
  private readonly longTexts: LongTexts;
  private entries = 0;
  /** Whether every array is there. */
  isWhole = false;
  /** There are too many distinct values: it is of no use, and empty. */
  isFull = false;

  /** `native`: an empty one of its own. */
  constructor(
    private readonly facts: ElementFacts,
    private readonly native: AddonFilterIndex,
  ) {
    this.tree = { native, words: this.words, fields: 0, ofElements: facts !== 'sizes' };
    this.root = new FieldNode(this.tree, 0);
    this.longTexts = new LongTexts({ native, metadataOf: () => ({}) });
  }

  has(slot: number): boolean {
    return this.native.has(slot);
  }

  put(slot: number, array: JsonValue): void {
    if (this.isFull || !Array.isArray(array)) return;
    this.begin(slot, 1);
    if (this.facts === 'sizes') this.writeSize(array.length);
    else for (const object of this.objectsOf(array)) this.root.putMembers(object);
    this.entries = this.native.apply(this.words.words, this.words.length);
    this.isFull = this.entries > ENTRIES.free + ENTRIES.perItem * this.native.slotCount();
  }

  remove(slot: number, array: JsonValue): void {
    if (!this.has(slot) || !Array.isArray(array)) return;
    this.begin(slot, 0);
    if (this.facts === 'sizes') this.writeSize(array.length);
    else for (const object of this.objectsOf(array)) this.root.removeMembers(object);
    this.native.apply(this.words.words, this.words.length);
    if (this.facts !== 'sizes') for (const object of this.objectsOf(array)) this.root.dropMembers(object);
    this.entries = this.native.entries();
  }

  /** Those with so many elements, both included. */
  ofSize(low: number, high: number): ChunkedSlotSet {
    return this.resolve({ type: 'between', path: SIZE, low, high });
  }

  /** Those that pass a filter that `canTell`. */
  resolve(filter: Filter): ChunkedSlotSet {
    const program = filterProgram(filter);
    const { listed, words, count } = this.native.resolve(program, program.length);
    return new FoundSlotSet(listed, words, count).toChunked();
  }

  /** Makes some of what the filter profits from. Answers whether there is more to make. */
  prepareSome(filter: Filter): boolean {
    const program = filterProgram(filter);
    const hasMore = this.native.prepare(program, program.length);
    return this.native.wantsOrders() ? this.native.orderSome(ORDERED_AT_ONCE) || hasMore : hasMore;
  }

  /** Whether the lists tell of one condition on a path below an element which items have an element that passes it. */
  canTell(condition: Filter & { path: string }): boolean {
    if (condition.path.includes('.') && this.tree.hasDots === true) return false;
    return this.longTexts.count(condition) === 0;
  }

  get memoryBytes(): number {
    return this.native.memoryBytes() + this.root.memoryBytes();
  }

  /** What conditions on an element are asked of, as matches.ts has it. */
  private objectsOf(array: JsonValue[]): JsonObject[] {
    return this.facts === 'values' ? array.map((element) => ({ '': element })) : array.filter(isJsonObject);
  }

  private begin(slot: number, change: 0 | 1): void {
    this.words.clear();
    this.words.word(slot);
    this.words.word(change);
  }

  private writeSize(size: number): void {
    const { number } = this.root.childOf(SIZE);
    this.words.word(number * FIELD + VALUE.number);
    this.words.number(size);
  }
}

const ORDERED_AT_ONCE = 2_048;
