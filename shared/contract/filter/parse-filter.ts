import { QuiverError } from '../../base/errors/quiver-error';
import { SETTINGS } from '../../base/config/settings';
import {
  type Filter,
  type FilterBound,
  isCondition,
  type JsonObject,
  type JsonValue,
  type RangeOperator,
  type TextCondition,
} from './filter';
import { hasOperators, intervalIn } from './filter-interval';
import {
  type FieldOperatorName,
  FOLDING_OPERATORS,
  isFieldOperator,
  isItemOperator,
  ITEM_OPERATORS_IN_WORDS,
  type ItemOperatorName,
  OPERATORS_IN_WORDS,
} from './filter-operators';
import { boxOf, polygonOf, radiusOf } from './parse-geo';
import { wordsOf } from './parse-words';
import { timeFromNow, timeOfText } from './time-of-text';

/** How large a client's filter may be, by the settings. */
export interface FilterBounds {
  /** Nesting of $and, $or and $not: evaluation is recursive. */
  filterDepthMax: number;
  /** Conditions in one filter: each takes work over all slots of a shard. */
  filterConditionsMax: number;
  /** Values in all lists of $in and $nin together: each takes one look-up in memory. */
  filterValuesMax: number;
}

/**
 * The bounds when the settings give none: more than a person writes, but too little to keep a shard busy for seconds.
 */
export const DEFAULT_FILTER_BOUNDS: FilterBounds = {
  filterDepthMax: SETTINGS.filterDepthMax.fallback,
  filterConditionsMax: SETTINGS.filterConditionsMax.fallback,
  filterValuesMax: SETTINGS.filterValuesMax.fallback,
};

/** Bounds that depend on how values are stored. A filter beyond one of them is refused. */
export const FILTER_LIMITS = {
  /** Nesting of an object or array to compare with. Metadata that are nested deeper never equal a filter's value. */
  valueDepthMax: 32,
  /** Characters of a string bound of a range: an index sorts long strings by this many characters. */
  boundCharactersMax: 128,
} as const;

/** Characters of a client's key that a message shows: enough to find it, without flooding a log. */
const SHOWN_KEY_MAX = 80;

/**
 * Parses a client's `filters` member; null when it restricts nothing, whatever the metadata are: absent, null, `{}`,
 * and also `{"$or": [{}, …]}` or `{"year": {"$nin": []}}`, which a program makes of conditions that are optional. The
 * filter keeps references to the values in `json`, which must not change afterwards. Errors: schema_violation that
 * names the offending key or operator; limit_exceeded that names the setting. `nowMs`: what `now` in a date means,
 * asked once at most, so that all shards get the same time.
 */
export function parseFilter(
  json: unknown,
  bounds: FilterBounds = DEFAULT_FILTER_BOUNDS,
  nowMs?: () => number,
): Filter | null {
  if (json === undefined || json === null) return null;
  const parser = new FilterParser(bounds, nowMs);
  const filter = parser.filter(json, 'filters', 1);
  if (parser.isOfNow) OF_NOW.add(filter);
  return matchesAll(filter) ? null : filter;
}

const OF_NOW = new WeakSet<Filter>();

/** Whether a filter that was parsed has dates from now, so that the same text is another filter later. */
export function isOfNow(filter: Filter): boolean {
  return OF_NOW.has(filter);
}

/** Whether the form of a filter says that everything matches. */
function matchesAll(filter: Filter): boolean {
  if (isCondition(filter)) return false;
  switch (filter.type) {
    case 'and':
      return filter.filters.every(matchesAll);
    case 'or':
      return filter.filters.some(matchesAll);
    case 'not':
      return matchesNothing(filter.filter);
  }
}

function matchesNothing(filter: Filter): boolean {
  if (isCondition(filter))
    return filter.type === 'in' ? filter.values.length === 0 : filter.type === 'ids' && filter.ids.length === 0;
  switch (filter.type) {
    case 'and':
      return filter.filters.some(matchesNothing);
    case 'or':
      return filter.filters.every(matchesNothing);
    case 'not':
      return matchesAll(filter.filter);
  }
}

/** What the members of an object of operators are to its conditions. */
interface Operand {
  path: string;
  json: unknown;
  /** Where it stands in the request. */
  place: string;
  /** Whether the object says `"case": "fold"`. */
  fold: boolean;
  /** Of the object that holds it. */
  depth: number;
}

/** How the operand of each operator is read. */
const OPERATIONS: Record<FieldOperatorName, (parser: FilterParser, operand: Operand) => Filter> = {
  $eq: (parser, operand) => parser.equal(operand),
  $ne: (parser, operand) => not(parser.equal(operand)),
  $gt: (parser, operand) => parser.range('gt', operand),
  $gte: (parser, operand) => parser.range('gte', operand),
  $lt: (parser, operand) => parser.range('lt', operand),
  $lte: (parser, operand) => parser.range('lte', operand),
  $in: (parser, operand) => parser.oneOf(operand),
  $nin: (parser, operand) => not(parser.oneOf(operand)),
  $exists: (_, operand) => asSaid(operand, { type: 'exists', path: operand.path }),
  $empty: (parser, operand) => asSaid(operand, parser.empty(operand)),
  $between: (parser, operand) => parser.between(operand),
  $prefix: (_, operand) => text('prefix', operand),
  $contains: (_, operand) => text('contains', operand),
  $like: (_, operand) => {
    const filter = text('like', operand);
    if (endsWithEscape(filter.pattern)) throw refusal(`${operand.place} ends with a \\ that stands before nothing`);
    return filter;
  },
  $all: (parser, operand) => parser.all(operand),
  $any: (parser, operand) => parser.oneOf(operand),
  $size: (_, { path, json, place }) => {
    const { low, high } = hasOperators(json)
      ? intervalIn(json, place, SIZES, sizeBound)
      : intervalIn({ $eq: sizeBound(json, place) }, place, SIZES, sizeBound);
    return { type: 'size', path, low, high };
  },
  $elem_match: (parser, operand) => parser.element(operand),
  $geo_radius: (_, { path, json, place }) => ({ type: 'geo', path, shape: radiusOf(json, place) }),
  $geo_box: (_, { path, json, place }) => ({ type: 'geo', path, shape: boxOf(json, place) }),
  $geo_polygon: (_, { path, json, place }) => ({ type: 'geo', path, shape: polygonOf(json, place) }),
};

/** How the operand of each operator at the top is read. */
const ITEM_OPERATIONS: Record<ItemOperatorName, (parser: FilterParser, json: unknown, place: string) => Filter> = {
  $id: (parser, json, place) => parser.ids(json, place),
  $expires_at: (parser, json, place) => parser.within('expiry', json, place),
  $updated: (parser, json, place) => parser.within('updated', json, place),
  $text: (parser, json, place) => parser.words(json, place),
};

/** What passes a filter, or what does not, as a flag says it. */
function asSaid({ json, place }: Operand, filter: Filter): Filter {
  if (typeof json !== 'boolean') throw refusal(`${place} must be true or false`);
  return json ? filter : not(filter);
}

/** Conditions of which $empty is made. */
const EMPTY_CONDITIONS = 4;
/** Elements that an array may have, and more. */
const SIZES = { low: 0, high: Number.MAX_SAFE_INTEGER };
/** Times that a Date may have. */
const TIMES = { low: -8.64e15, high: 8.64e15 };

/** A date also equals the object of that form, as it did before dates were known. */
function atDates(path: string, values: JsonValue[], times: { time: number }[]): Filter {
  const dates = times.map((time): Filter => ({ type: 'between', path, low: time, high: time }));
  return { type: 'or', filters: [{ type: 'in', path, values }, ...dates] };
}

/** Whether what stands last is a backslash that is not itself behind another. */
function endsWithEscape(pattern: string): boolean {
  return ((/\\+$/.exec(pattern)?.[0].length ?? 0) & 1) === 1;
}

/** A bound of a number of elements. */
function sizeBound(json: unknown, place: string): number {
  if (typeof json !== 'number' || !Number.isFinite(json)) throw refusal(`${place} must be a finite number`);
  return json;
}

const JOINS = '$and, $or and $not';
const JOINING: ReadonlySet<string> = new Set(['$and', '$or', '$not']);

function text(test: TextCondition['test'], { path, json, place, fold }: Operand): TextCondition {
  return { type: 'text', path, test, pattern: checkedPattern(json, place), fold };
}

function not(filter: Filter): Filter {
  return { type: 'not', filter };
}

class FilterParser {
  private conditions = 0;
  /** Within how many conditions on elements of arrays. */
  private elements = 0;
  private listedValues = 0;

  private now: number | null = null;

  constructor(
    private readonly bounds: FilterBounds,
    private readonly nowMs?: () => number,
  ) {}

  /** Whether a date was from now. */
  get isOfNow(): boolean {
    return this.now !== null;
  }

  filter(json: unknown, place: string, depth: number): Filter {
    if (!isObject(json)) throw refusal(`${place} must be an object`);
    if (depth > this.bounds.filterDepthMax) throw this.tooDeep();
    return all(Object.keys(json).map((key) => this.member(key, json[key], place, depth)));
  }

  private member(key: string, json: unknown, place: string, depth: number): Filter {
    const here = `${place}.${shown(key)}`;
    if (!key.startsWith('$')) return this.condition(key, json, here, depth);
    switch (key) {
      case '$and':
        return all(this.filters(json, here, depth));
      case '$or':
        return { type: 'or', filters: this.filters(json, here, depth) };
      case '$not':
        return { type: 'not', filter: this.filter(json, here, depth + 1) };
      default:
        return this.ofItem(key, json, here);
    }
  }

  private ofItem(key: string, json: unknown, here: string): Filter {
    if (this.elements > 0) throw refusal(`${here}: unknown operator; on members of elements there are ${JOINS}`);
    if (!isItemOperator(key))
      throw refusal(
        `${here}: unknown operator; beside keys of the metadata there are ${JOINS}, ${ITEM_OPERATORS_IN_WORDS}`,
      );
    this.count(here);
    return ITEM_OPERATIONS[key](this, json, here);
  }

  private filters(json: unknown, place: string, depth: number): Filter[] {
    if (!Array.isArray(json) || json.length === 0) throw refusal(`${place} must be an array of at least one filter`);
    return json.map((part, i) => this.filter(part, `${place}[${i}]`, depth + 1));
  }

  /** The condition on one metadata key: a value to equal, or an object of operators. */
  private condition(path: string, json: unknown, place: string, depth: number): Filter {
    if (isObject(json)) {
      const keys = Object.keys(json);
      const operators = keys.filter((key) => key.startsWith('$'));
      if (operators.length > 0) {
        const hasCase = Object.hasOwn(json, 'case') && operators.some((operator) => FOLDING_OPERATORS.has(operator));
        const plain = keys.find((key) => !key.startsWith('$') && !(hasCase && key === 'case'));
        if (plain !== undefined) {
          throw refusal(
            `${place}: operator ${shown(operators[0])} and plain key ${shown(plain)} can't stand in one object`,
          );
        }
        if (hasCase && json.case !== 'fold') throw refusal(`${place}.case must be "fold"`);
        return all(
          operators.map((operator) =>
            this.operation(operator, {
              path,
              json: json[operator],
              place: `${place}.${shown(operator)}`,
              fold: hasCase,
              depth,
            }),
          ),
        );
      }
    }
    this.count(place);
    return { type: 'equals', path, value: checkedValue(json, place) };
  }

  private operation(operator: string, operand: Operand): Filter {
    const { place } = operand;
    this.count(place);
    if (!isFieldOperator(operator)) throw refusal(`${place}: unknown operator; there are ${OPERATORS_IN_WORDS}`);
    return OPERATIONS[operator](this, operand);
  }

  equal({ path, json, place }: Operand): Filter {
    const value = checkedValue(json, place);
    if (!isDate(value)) return { type: 'equals', path, value };
    return atDates(path, [value], [this.time(value, place)]);
  }

  oneOf({ path, json, place }: Operand): Filter {
    const values = this.list(json, place);
    const dates = values.flatMap((value, i) => (isDate(value) ? [this.time(value, `${place}[${i}]`)] : []));
    return dates.length === 0 ? { type: 'in', path, values } : atDates(path, values, dates);
  }

  all({ path, json, place, depth }: Operand): Filter {
    const values = this.list(json, place);
    for (const _ of values.slice(1)) this.count(place);
    return all(
      values.map((value, i) => this.equal({ path, json: value, place: `${place}[${i}]`, fold: false, depth })),
    );
  }

  /** In conditions that lists of values answer, each of which counts. */
  empty({ path, place }: Operand): Filter {
    const isNull: Filter = { type: 'equals', path, value: null };
    const hasValue: Filter = { type: 'others', path, values: [] };
    const isNone: Filter = { type: 'equals', path, value: [] };
    for (let left = EMPTY_CONDITIONS - 1; left > 0; left--) this.count(place);
    return { type: 'or', filters: [not({ type: 'exists', path }), isNone, all([isNull, not(hasValue)])] };
  }

  /** Operators ask the element itself, keys its members. */
  element({ path, json, place, depth }: Operand): Filter {
    if (!isObject(json) || Object.keys(json).length === 0)
      throw refusal(`${place} must be an object of at least one condition`);
    if (depth >= this.bounds.filterDepthMax) throw this.tooDeep();
    this.elements += 1;
    const isValue = Object.keys(json).some((key) => key.startsWith('$') && !JOINING.has(key));
    const filter = isValue ? this.condition('', json, place, depth + 1) : this.filter(json, place, depth + 1);
    this.elements -= 1;
    return { type: 'element', path, of: isValue ? 'value' : 'members', filter };
  }

  ids(json: unknown, place: string): Filter {
    const ids = this.list(json, place).map((id, i) => {
      if (typeof id !== 'string') throw refusal(`${place}[${i}] must be an external_id, a string`);
      return id;
    });
    return { type: 'ids', ids };
  }

  /** Each word counts as a condition: its list is as long as that of a value. */
  words(json: unknown, place: string): Filter {
    const { condition, count } = wordsOf(json, place);
    for (let left = count - 1; left > 0; left--) this.count(place);
    return condition;
  }

  within(type: 'expiry' | 'updated', json: unknown, place: string): Filter {
    if (!hasOperators(json))
      throw refusal(`${place} must be an object of operators: $gt, $gte, $lt, $lte, $between, $exists`);
    const { $exists, ...bounds } = json;
    if ($exists !== undefined && typeof $exists !== 'boolean') throw refusal(`${place}.$exists must be true or false`);
    const interval = intervalIn(
      bounds,
      place,
      TIMES,
      (bound, here) => this.time(typeof bound === 'string' ? { $date: bound } : isDate(bound) ? bound : {}, here).time,
    );
    const filter: Filter = { type, ...interval };
    if ($exists !== false) return filter;
    const never = not({ type, ...TIMES });
    return Object.keys(bounds).length === 0 ? never : all([never, filter]);
  }

  range(operator: RangeOperator, { path, json, place }: Operand): Filter {
    return { type: 'range', path, operator, bound: this.bound(json, place) };
  }

  between({ path, json, place }: Operand): Filter {
    if (!Array.isArray(json) || json.length !== 2) throw refusal(`${place} must be [lowest, highest]`);
    const [low, high] = json.map((bound, i) => this.bound(bound, `${place}[${i}]`));
    if (typeof low !== typeof high) throw refusal(`${place} must have two numbers, two texts or two dates`);
    return { type: 'between', path, low, high };
  }

  private bound(json: unknown, place: string): FilterBound {
    return isDate(json) ? this.time(json, place) : checkedBound(json, place);
  }

  private time({ $date }: JsonObject, place: string): { time: number } {
    const time = typeof $date === 'string' ? (timeOfText($date) ?? this.timeFromNow($date)) : null;
    if (time === null)
      throw refusal(`${place}.$date must be a date such as "2024-02-01T00:00:00+02:00", or "now-7d" (s, m, h, d, w)`);
    return { time };
  }

  private timeFromNow(text: string): number | null {
    return text.startsWith('now') && this.nowMs !== undefined ? timeFromNow(text, (this.now ??= this.nowMs())) : null;
  }

  private list(json: unknown, place: string): JsonValue[] {
    if (!Array.isArray(json)) throw refusal(`${place} must be an array`);
    this.listedValues += json.length;
    if (this.listedValues > this.bounds.filterValuesMax) {
      throw tooMuch(`${place}: filters may list at most ${this.bounds.filterValuesMax} values (MAX_FILTER_VALUES)`);
    }
    return json.map((value, i) => checkedValue(value, `${place}[${i}]`));
  }

  private tooDeep(): QuiverError {
    return tooMuch(`filters may nest at most ${this.bounds.filterDepthMax} levels deep (MAX_FILTER_DEPTH)`);
  }

  private count(place: string): void {
    if (++this.conditions > this.bounds.filterConditionsMax) {
      throw tooMuch(
        `${place}: filters may hold at most ${this.bounds.filterConditionsMax} conditions (MAX_FILTER_CONDITIONS)`,
      );
    }
  }
}

function checkedBound(json: unknown, place: string): number | string {
  if (typeof json === 'number' && Number.isFinite(json)) return json;
  if (typeof json !== 'string') throw refusal(`${place} must be a finite number, a string or {"$date": …}`);
  return checkedLength(json, place);
}

function checkedPattern(json: unknown, place: string): string {
  if (typeof json !== 'string') throw refusal(`${place} must be a string`);
  return checkedLength(json, place);
}

function checkedLength(json: string, place: string): string {
  if (json.length > FILTER_LIMITS.boundCharactersMax) {
    throw refusal(`${place} must have at most ${FILTER_LIMITS.boundCharactersMax} characters`);
  }
  return json;
}

function checkedValue(json: unknown, place: string, depth = 0): JsonValue {
  if (json === null || typeof json === 'string' || typeof json === 'boolean') return json;
  if (typeof json === 'number' && Number.isFinite(json)) return json;
  if (!isObject(json) && !Array.isArray(json)) throw refusal(`${place} must be a JSON value with finite numbers`);
  if (depth >= FILTER_LIMITS.valueDepthMax)
    throw refusal(`${place} may nest at most ${FILTER_LIMITS.valueDepthMax} levels deep`);
  for (const value of Object.values(json)) checkedValue(value, place, depth + 1);
  return json as JsonValue;
}

/** A single condition stays as it is; several, or none, become an `and`. */
function all(filters: Filter[]): Filter {
  return filters.length === 1 ? filters[0] : { type: 'and', filters };
}

/** Whether a date is asked for. */
function isDate(json: unknown): json is JsonObject {
  return isObject(json) && Object.hasOwn(json, '$date') && Object.keys(json).length === 1;
}

function isObject(json: unknown): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

function shown(key: string): string {
  return key.length > SHOWN_KEY_MAX ? `${key.slice(0, SHOWN_KEY_MAX)}…` : key;
}

function refusal(message: string): QuiverError {
  return new QuiverError('schema_violation', message);
}

function tooMuch(message: string): QuiverError {
  return new QuiverError('limit_exceeded', message);
}
