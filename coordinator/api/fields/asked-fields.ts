import { dateForm } from '../../../shared/contract/filter/date-form';
import {
  type Condition,
  type Filter,
  isCondition,
  isOfItem,
  type JsonValue,
} from '../../../shared/contract/filter/filter';
import type { FieldFactsRequest } from '../../../shared/contract/shard/field-facts';

/** A field that a filter asks for. */
export interface AskedField {
  path: string;
  /** Whether the condition is met by items without the field, as `$ne` is. */
  isNegated: boolean;
  /** The value that the whole condition compares with; undefined: it is none of equality. */
  value: JsonValue | undefined;
}

/** A text that looks like a date, and is the bound of a range. */
export interface AskedDate {
  path: string;
  bound: string;
  form: string;
}

/** What a filter asks for, as far as it is looked at. */
export interface AskedFields {
  fields: AskedField[];
  dates: AskedDate[];
  /** Their paths. */
  request: FieldFactsRequest;
  /** Whether every item that passes has every field. */
  areAllNeeded: boolean;
}

/** Fields of one filter that are looked at: more than people write. */
const FIELDS_MAX = 64;
const PATH_CHARACTERS_MAX = 1_024;
/** As deep as objects of a filter are compared. */
const DEPTH_MAX = 32;

const known = new WeakMap<Filter, AskedFields>();

/** The fields of a filter, each once. A filter never changes, so it is looked at once. */
export function askedFields(filter: Filter): AskedFields {
  let asked = known.get(filter);
  if (asked === undefined) known.set(filter, (asked = new FieldCollector().collected(filter)));
  return asked;
}

class FieldCollector {
  private readonly fields = new Map<string, AskedField>();
  private readonly dates: AskedDate[] = [];
  private areAllNeeded = true;
  /** Paths that an item may lack here: another part of an `or` asks for that. */
  private readonly optional: string[] = [];

  collected(filter: Filter): AskedFields {
    this.visit(filter, false);
    const request = { paths: [...this.fields.keys()], dates: this.dates.map(({ path }) => path) };
    return { fields: [...this.fields.values()], dates: this.dates, request, areAllNeeded: this.areAllNeeded };
  }

  private visit(filter: Filter, isNegated: boolean): void {
    if (isCondition(filter)) {
      this.ask(filter, isNegated);
      return;
    }
    switch (filter.type) {
      case 'and':
      case 'or':
        if (filter.type === 'or' || isNegated) this.areAllNeeded = false;
        this.visitParts(filter, isNegated);
        break;
      case 'not':
        this.areAllNeeded = false;
        this.visit(filter.filter, !isNegated);
        break;
    }
  }

  private visitParts({ type, filters }: Extract<Filter, { filters: Filter[] }>, isNegated: boolean): void {
    const before = this.optional.length;
    if (type === 'or' && !isNegated)
      for (const part of filters)
        if (part.type === 'not' && part.filter.type === 'exists') this.optional.push(part.filter.path);
    for (const part of filters) this.visit(part, isNegated);
    this.optional.length = before;
  }

  private ask(condition: Condition, isNegated: boolean): void {
    if (isOfItem(condition)) {
      const paths = (condition.type === 'words' ? condition.paths : undefined) ?? [];
      if (paths.length > 1) this.areAllNeeded = false;
      for (const path of paths) this.add(path, isNegated, undefined);
      return;
    }
    const { path } = condition;
    // Who asks whether a field is there need not be told that it is not.
    if (condition.type === 'exists' && isNegated) {
      this.areAllNeeded = false;
      return;
    }
    const isEqual = condition.type === 'equals';
    this.add(path, isNegated, isEqual ? condition.value : undefined);
    if (isEqual && !isNegated) this.addMembers(path, condition.value, condition.value, 0);
    if (condition.type !== 'range') return;
    const form = dateForm(condition.bound);
    if (form !== null && this.dates.length < FIELDS_MAX)
      this.dates.push({ path, bound: condition.bound as string, form });
  }

  /** An object equals only what has all of its members. */
  private addMembers(path: string, value: JsonValue, whole: JsonValue, depth: number): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || depth === DEPTH_MAX) return;
    for (const [key, inner] of Object.entries(value)) {
      this.add(`${path}.${key}`, false, whole);
      this.addMembers(`${path}.${key}`, inner, whole, depth + 1);
    }
  }

  private add(path: string, isOfNegation: boolean, value: JsonValue | undefined): void {
    const isNegated = isOfNegation || this.optional.includes(path);
    const before = this.fields.get(path);
    if (before !== undefined) {
      // One condition that needs the field is enough.
      before.isNegated &&= isNegated;
      return;
    }
    if (this.fields.size === FIELDS_MAX || path.length > PATH_CHARACTERS_MAX) return;
    this.fields.set(path, { path, isNegated, value });
  }
}
