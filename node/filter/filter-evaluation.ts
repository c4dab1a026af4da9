import type { Filter, JsonValue } from '../../shared/filter/filter';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { FieldNode, IndexExtent } from './field-node';
import { PATH_DEPTH_MAX } from './metadata-path';
import { type Posting, postingSize, postingToSet } from './posting';
import { PostingUnion } from './posting-union';

/** Inside an `and`, a range checks the remaining slots one by one if they are fewer than one in this many. */
const FEW_SLOTS_SHARE = 16;

/** How many sets are collected before they are united: each may be a bitmap of all slots. */
const UNITED_AT_ONCE = 16;

/** How many values of a list are looked up in one step: a fraction of a millisecond, even with very long strings. */
const VALUES_PER_STEP = 64;

/**
 * Turns a filter into the set of slots that match it, by set algebra over a tree of fields. Exact; no item is read. The
 * work is divided into steps, one for each condition and for some values of a list, so that the caller may let others
 * run in between. If fields change between two steps, the result is correct for all slots except those that changed.
 */
export class FilterEvaluation {
  /** `all` are the slots indexed under `root`. */
  constructor(private readonly fields: { root: FieldNode; all: ChunkedSlotSet; extent: Readonly<IndexExtent> }) {}

  /** Runs all steps at once. The returned set belongs to the caller. */
  evaluate(filter: Filter): ChunkedSlotSet {
    const steps = this.steps(filter);
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }

  /** The same in steps. */
  *steps(filter: Filter): Generator<undefined, ChunkedSlotSet> {
    switch (filter.type) {
      case 'and':
        return yield* this.conjunction(filter.filters);
      case 'or':
        return yield* this.disjunction(filter.filters);
      case 'not': {
        const excluded = yield* this.steps(filter.filter);
        return this.fields.all.andNot(excluded);
      }
      case 'in':
        return yield* this.onPathInSteps(filter.path, (node) => this.anyOf(node, filter.values));
      default:
        break;
    }
    yield;
    switch (filter.type) {
      case 'equals':
        return this.onPath(filter.path, (node) => postingToSet(node.equal(filter.value)));
      case 'exists':
        return this.onPath(filter.path, (node) => postingToSet(node.present));
      case 'range':
        return this.onPath(filter.path, (node) => node.range(filter.operator, filter.bound));
    }
  }

  /** Smallest parts first, negations last, so that each step works on what the earlier ones left. */
  private *conjunction(filters: Filter[]): Generator<undefined, ChunkedSlotSet> {
    const positive = filters.filter((part) => part.type !== 'not');
    const costs = new Map(positive.map((part) => [part, this.sizeAtMost(part) + (part.type === 'range' ? this.fields.extent.slotLimit : 0)]));
    positive.sort((a, b) => (costs.get(a) as number) - (costs.get(b) as number));
    let left: ChunkedSlotSet | null = null;
    for (const part of positive) {
      left = left === null ? yield* this.steps(part) : yield* this.narrowed(left, part);
      if (left.size === 0) return left;
    }
    left ??= this.fields.all.clone();
    for (const part of filters) if (part.type === 'not' && left.size > 0) left = left.andNot(yield* this.steps(part.filter));
    return left;
  }

  private *narrowed(left: ChunkedSlotSet, part: Filter): Generator<undefined, ChunkedSlotSet> {
    if (part.type === 'range' && left.size * FEW_SLOTS_SHARE < this.fields.extent.slotLimit) {
      yield;
      return this.onPath(part.path, (node) => node.rangeWithin(left, part.operator, part.bound));
    }
    return left.and(yield* this.steps(part));
  }

  private *disjunction(filters: Filter[]): Generator<undefined, ChunkedSlotSet> {
    const found: ChunkedSlotSet[] = [];
    for (const part of filters) {
      found.push(yield* this.steps(part));
      if (found.length >= UNITED_AT_ONCE) found.splice(0, found.length, this.unionOf(found));
    }
    return found.length === 1 ? found[0] : this.unionOf(found);
  }

  private *anyOf(node: FieldNode, values: JsonValue[]): Generator<undefined, ChunkedSlotSet> {
    const found: ChunkedSlotSet[] = [];
    for (let from = 0; from < values.length; from += VALUES_PER_STEP) {
      found.push(this.unionOf(values.slice(from, from + VALUES_PER_STEP).map((value) => node.equal(value))));
      if (found.length >= UNITED_AT_ONCE) found.splice(0, found.length, this.unionOf(found));
      yield;
    }
    return found.length === 1 ? found[0] : this.unionOf(found);
  }

  /** United in one step: slots that are added between two steps may lie above the limit of an earlier one. */
  private unionOf(postings: readonly Posting[]): ChunkedSlotSet {
    const union = new PostingUnion(this.fields.extent.slotLimit);
    for (const posting of postings) union.add(posting);
    return union.finish();
  }

  /**
   * The slots that `find` gives for the field that a path means. A dotted path can mean different fields in different
   * items. So the fields are asked in the order in which lookUpPath tries them, each only for the slots that have none
   * of the earlier ones.
   */
  private *onPathInSteps(path: string, find: (node: FieldNode) => Generator<undefined, ChunkedSlotSet>): Generator<undefined, ChunkedSlotSet> {
    const found = new Map<FieldNode, ChunkedSlotSet>();
    const nodes = this.nodesOf(path);
    for (const node of nodes) found.set(node, yield* find(node));
    return this.onNodes(nodes, (node) => found.get(node) as ChunkedSlotSet);
  }

  private onPath(path: string, find: (node: FieldNode) => ChunkedSlotSet): ChunkedSlotSet {
    return this.onNodes(this.nodesOf(path), find);
  }

  private onNodes(nodes: FieldNode[], find: (node: FieldNode) => ChunkedSlotSet): ChunkedSlotSet {
    if (nodes.length === 0) return new ChunkedSlotSet();
    const result = find(nodes[0]);
    if (nodes.length === 1) return result;
    const decided = postingToSet(nodes[0].present);
    for (const node of nodes.slice(1)) {
      result.orInPlace(find(node).andNot(decided));
      decided.orInPlace(postingToSet(node.present));
    }
    return result;
  }

  private nodesOf(path: string): FieldNode[] {
    const nodes: FieldNode[] = [];
    let rest = path;
    let node: FieldNode | undefined = this.fields.root;
    for (let depth = 1; depth <= PATH_DEPTH_MAX && node !== undefined; depth++) {
      const whole = node.children.get(rest);
      if (whole !== undefined) nodes.push(whole);
      const dot = rest.indexOf('.');
      if (dot < 0) break;
      node = node.children.get(rest.slice(0, dot));
      rest = rest.slice(dot + 1);
    }
    return nodes;
  }

  /** A cheap upper bound on the number of matches. */
  private sizeAtMost(filter: Filter): number {
    const sum = (parts: number[]): number => parts.reduce((total, part) => total + part, 0);
    switch (filter.type) {
      case 'and':
        return Math.min(this.fields.all.size, ...filter.filters.map((part) => this.sizeAtMost(part)));
      case 'or':
        return sum(filter.filters.map((part) => this.sizeAtMost(part)));
      case 'not':
        return this.fields.all.size;
      case 'equals':
        return sum(this.nodesOf(filter.path).map((node) => postingSize(node.equal(filter.value))));
      case 'in':
      case 'exists':
      case 'range':
        return sum(this.nodesOf(filter.path).map((node) => node.presentCount()));
    }
  }
}
