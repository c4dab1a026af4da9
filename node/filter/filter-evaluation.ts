import type { Filter, JsonValue } from '../../shared/filter/filter';
import { PATH_DEPTH_MAX } from '../../shared/filter/metadata-path';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import type { FieldNode } from './field-node';
import { postingSize, postingToSet } from './posting';
import { PostingUnion } from './posting-union';

/** A range inside an `and` looks at the slots left one by one when they are fewer than one in this many. */
const FEW_SLOTS_SHARE = 16;

/** Turns a filter into the set of slots that match it, by the algebra of sets over a tree of fields: exact, no item is read. */
export class FilterEvaluation {
  /** `all` are the slots indexed under `root`. */
  constructor(private readonly fields: { root: FieldNode; all: ChunkedSlotSet; slotLimit: number }) {}

  /** A set of the caller's own. */
  evaluate(filter: Filter): ChunkedSlotSet {
    switch (filter.type) {
      case 'and':
        return this.conjunction(filter.filters);
      case 'or':
        return this.disjunction(filter.filters);
      case 'not':
        return this.fields.all.andNot(this.evaluate(filter.filter));
      case 'equals':
        return this.onPath(filter.path, (node) => postingToSet(node.equal(filter.value)));
      case 'in':
        return this.onPath(filter.path, (node) => this.anyOf(node, filter.values));
      case 'exists':
        return this.onPath(filter.path, (node) => postingToSet(node.present));
      case 'range':
        return this.onPath(filter.path, (node) => node.range(filter.operator, filter.bound));
    }
  }

  /** Smallest parts first, negations last: each step then works on what the earlier ones left. */
  private conjunction(filters: Filter[]): ChunkedSlotSet {
    const positive = filters.filter((part) => part.type !== 'not');
    const costs = new Map(positive.map((part) => [part, this.sizeAtMost(part) + (part.type === 'range' ? this.fields.slotLimit : 0)]));
    positive.sort((a, b) => (costs.get(a) as number) - (costs.get(b) as number));
    let left: ChunkedSlotSet | null = null;
    for (const part of positive) {
      left = left === null ? this.evaluate(part) : this.narrowed(left, part);
      if (left.size === 0) return left;
    }
    left ??= this.fields.all.clone();
    for (const part of filters) if (part.type === 'not' && left.size > 0) left = left.andNot(this.evaluate(part.filter));
    return left;
  }

  private narrowed(left: ChunkedSlotSet, part: Filter): ChunkedSlotSet {
    if (part.type === 'range' && left.size * FEW_SLOTS_SHARE < this.fields.slotLimit) {
      return this.onPath(part.path, (node) => node.rangeWithin(left, part.operator, part.bound));
    }
    return left.and(this.evaluate(part));
  }

  private disjunction(filters: Filter[]): ChunkedSlotSet {
    const union = new PostingUnion(this.fields.slotLimit);
    for (const part of filters) union.add(this.evaluate(part));
    return union.finish();
  }

  private anyOf(node: FieldNode, values: JsonValue[]): ChunkedSlotSet {
    const union = new PostingUnion(this.fields.slotLimit);
    for (const value of values) union.add(node.equal(value));
    return union.finish();
  }

  /**
   * The slots that `find` gives for the field a path means. A dotted path can mean another field in each item, so the
   * fields are asked in the order in which lookUpPath tries them, each only for the slots that have none of the earlier.
   */
  private onPath(path: string, find: (node: FieldNode) => ChunkedSlotSet): ChunkedSlotSet {
    const nodes = this.nodesOf(path);
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

  /** A cheap upper bound of the number of matches. */
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
