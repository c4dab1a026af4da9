import type { JsonObject, JsonValue } from '../../../shared/contract/filter/filter';
import { type CompositeKeys, compositeKeys } from './composite-keys';
import { type FilterWords, VALUE } from './filter-words';
import { isJsonObject, PATH_DEPTH_MAX } from '../../../shared/contract/filter/metadata-path';
import type { AddonFilterIndex } from '../vector/native-filters';

/** What the nodes of one index share. */
export interface FieldTree {
  native: AddonFilterIndex;
  /** Filled for one call of `native`, then used again. */
  words: FilterWords;
  /** Number of nodes. */
  fields: number;
  /** Whether elements of arrays are put: a slot may have several values of a field. Such a tree is never recounted. */
  ofElements?: boolean;
  /** Whether a key with a dot was ever put. */
  hasDots?: boolean;
}

/** Added to the kind of a value that is an element of an array: its field is said to be present by the array. */
const ELEMENT = 8;
/** The number of a field of the addon, times this, is added to the kind. */
export const FIELD = 16;
/** Longer paths are nobody's idea of a name. */
const NAME_CHARACTERS_MAX = 128;
const NO_CHILDREN: ReadonlyMap<string, FieldNode> = new Map();

/**
 * One metadata key at one place of the nesting, and the keys inside it. The nodes of an index form a tree along the
 * keys, so a key is stored once, however many keys are inside it. The slots that have it are in the addon, under
 * `number`.
 */
export class FieldNode {
  /** Number of slots that have the key. */
  private present = 0;
  /** The keys inside it; most fields have none. */
  private inner: Map<string, FieldNode> | null = null;

  /** `number`: 0 for the root, which is no field; −1 when it was dropped. */
  constructor(
    private readonly tree: FieldTree,
    public number: number,
  ) {}

  get children(): ReadonlyMap<string, FieldNode> {
    return this.inner ?? NO_CHILDREN;
  }

  /**
   * Writes the members of an object that is put. `depth` is the number of keys above them; `keys` are the composite
   * keys of the enclosing value, if it has any.
   */
  putMembers(object: JsonObject, depth = 0, keys?: CompositeKeys): void {
    if (depth >= PATH_DEPTH_MAX) return;
    for (const key of Object.keys(object)) {
      const child = this.childOf(key);
      child.present++;
      const value = object[key];
      const inner = child.write(value, keys);
      if (inner !== null) child.putMembers(value as JsonObject, depth + 1, inner);
    }
  }

  /** Writes the members of an object that is removed. */
  removeMembers(object: JsonObject, depth = 0, keys?: CompositeKeys): void {
    if (depth >= PATH_DEPTH_MAX) return;
    for (const key of Object.keys(object)) {
      const child = this.children.get(key);
      if (child === undefined) continue;
      child.present--;
      const value = object[key];
      const inner = child.write(value, keys);
      if (inner !== null) child.removeMembers(value as JsonObject, depth + 1, inner);
    }
  }

  /** Drops what is empty among the members of an object that was removed. */
  dropMembers(object: JsonObject, depth = 0): void {
    if (depth >= PATH_DEPTH_MAX) return;
    for (const key of Object.keys(object)) {
      const child = this.children.get(key);
      if (child === undefined) continue;
      const value = object[key];
      if (isJsonObject(value)) child.dropMembers(value, depth + 1);
      if (child.isEmpty()) this.drop(key, child);
    }
  }

  /** The child for that key; made if it does not exist. */
  childOf(key: string): FieldNode {
    let child = this.children.get(key);
    if (child === undefined) {
      const { words, native } = this.tree;
      // Behind what is there: an item may be in the making.
      const from = words.length;
      words.text(key);
      child = new FieldNode(this.tree, native.addField(this.number, words.words.subarray(from), words.length - from));
      words.length = from;
      if (key.includes('.')) this.tree.hasDots = true;
      (this.inner ??= new Map()).set(key, child);
      this.tree.fields++;
    }
    return child;
  }

  /** Paths of the fields below this node, `max` at most; those near the root first. */
  paths(max: number): string[] {
    const found: string[] = [];
    // A key may be empty, too: the root has no prefix.
    const nodes: [string | null, FieldNode][] = [[null, this]];
    for (const [prefix, node] of nodes) {
      for (const [key, child] of node.children) {
        if (found.length === max) return found;
        const path = prefix === null ? key : `${prefix}.${key}`;
        if (path.length > NAME_CHARACTERS_MAX) continue;
        found.push(path);
        if (child.children.size > 0) nodes.push([path, child]);
      }
    }
    return found;
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

  /** Counts again below this node, after the addon's lists were changed otherwise, and drops what is empty. */
  recount(): void {
    for (const [key, child] of this.children) {
      child.present = this.tree.native.presentCount(child.number);
      child.recount();
      if (child.isEmpty()) this.drop(key, child);
    }
  }

  memoryBytes(): number {
    /** The node, its entry in its parent's map, and the same in the addon. */
    let bytes = 500;
    for (const [key, child] of this.children) bytes += 2 * key.length + child.memoryBytes();
    return bytes;
  }

  /**
   * Writes a value of this key. Of an object, whose members are still to be written, answers the composite keys; else
   * null.
   */
  private write(value: JsonValue, outerKeys: CompositeKeys | undefined): CompositeKeys | null {
    const { words } = this.tree;
    let head = this.number * FIELD;
    if (this.tree.ofElements === true) {
      words.word(head + VALUE.none);
      head += ELEMENT;
    }
    if (typeof value !== 'object' || value === null) {
      words.value(value, head);
      return null;
    }
    const keys = outerKeys ?? compositeKeys(value);
    words.value(value, head, keys);
    if (isJsonObject(value)) return keys;
    for (const element of value)
      if (typeof element !== 'object' || element === null) words.value(element, this.number * FIELD + ELEMENT);
    return null;
  }

  private isEmpty(): boolean {
    return this.present === 0 && this.children.size === 0;
  }

  private drop(key: string, child: FieldNode): void {
    this.inner?.delete(key);
    this.tree.native.dropField(child.number);
    child.number = -1;
    this.tree.fields--;
  }
}

/** A field without values, used for what is inside new fields. */
const NO_FIELD = new FieldNode({ native: null as never, words: null as never, fields: 0 }, -1);

/** The length prefix makes names unique, whatever the keys contain. */
function fieldName(prefix: string, key: string): string {
  return `${prefix}${key.length}:${key}`;
}
