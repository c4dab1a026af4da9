import type { AskedDate, AskedField } from './asked-fields';
import { DATE_ONLY, LOCAL_TIME } from '../../../shared/contract/filter/date-form';
import type { JsonValue } from '../../../shared/contract/filter/filter';
import { OPERATORS_BY_NAME } from '../../../shared/contract/filter/filter-operators';
import { shownName } from './field-hints';
import { bareName, nearestName } from '../../../shared/base/text/nearest-name';

const FORM = 'a filter is {"field": value} or {"field": {"$gte": value}}';
const JOINED = `${FORM}, joined by $and, $or and $not`;
/** Names by which the filters of other products are told, and what they are here. By bare names. */
const PEER_NAMES: Readonly<Record<string, string>> = {
  must: JOINED, should: JOINED, mustnot: JOINED, minshould: JOINED, bool: JOINED, filter: JOINED, filters: JOINED, where: JOINED, operands: JOINED, conditions: JOINED,
  and: 'did you mean $and?', or: 'did you mean $or?', not: 'did you mean $not?',
  term: FORM, terms: FORM, match: FORM, range: FORM, key: FORM, operator: FORM, path: FORM, matchall: 'leave filters out to match everything',
  valuetext: FORM, valuestring: FORM, valueint: FORM, valuenumber: FORM, valueboolean: FORM, valuedate: FORM,
}; // prettier-ignore

/** Those that are a peer's filter by themselves, where they hold an object or an array. */
const PEER_CLAUSES: ReadonlySet<string> = new Set([
  'must',
  'should',
  'mustnot',
  'bool',
  'operands',
  'and',
  'or',
  'not',
  'term',
  'terms',
  'match',
  'range',
]);

/** What metadata are called, here and elsewhere. By bare names. */
const METADATA_NAMES: ReadonlySet<string> = new Set(['metadata', 'payload', 'properties', 'meta']);

/** Whether a condition is none of this service whatever the items are: for collections that have none yet. */
export function isForeign({ path, value }: AskedField): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return PEER_CLAUSES.has(bareName(path)) || operatorIn(value) !== null;
}

/** What to add to the message that no item has the field; empty if nothing is known. `names`: paths that items have. */
export function absentFieldHint({ path, value }: AskedField, names: readonly string[]): string {
  const operator = value === undefined ? null : operatorIn(value);
  if (operator !== null) return `; operators begin with $: did you mean ${operator}?`;
  const direct = directPath(path, value);
  if (direct !== null && !names.some((name) => name.startsWith(path.split('.', 1)[0] + '.')))
    return `; fields of the metadata are named directly: did you mean ${shownName(direct)}?`;
  const bare = bareName(path);
  const near = nearField(path, names);
  if (Object.hasOwn(PEER_NAMES, bare)) return `; ${PEER_NAMES[bare]}`;
  const dot = path.lastIndexOf('.');
  const head = path.slice(0, Math.max(0, dot));
  if (dot >= 0 && names.includes(head) && !names.some((name) => name.startsWith(`${head}.`)))
    return '; paths lead into objects, not into the elements of arrays';
  return near === null ? '' : `; did you mean ${shownName(near)}?`;
}

/**
 * What is left of a path that begins with what metadata are called, as in `metadata.year` or
 * `{"metadata": {"year": …}}`; null: it does not.
 */
function directPath(path: string, value: JsonValue | undefined): string | null {
  const [head, ...rest] = path.split('.');
  if (!METADATA_NAMES.has(bareName(head))) return null;
  if (rest.length > 0) return rest.join('.');
  const [first] = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  return first === undefined || first.startsWith('$') ? null : first;
}

/** The path that was most likely meant; null: none is near. */
export function nearField(path: string, names: readonly string[]): string | null {
  const near = nearestName(path, names);
  if (near !== null) return near;
  const last = bareName(path.slice(path.lastIndexOf('.') + 1));
  return last === '' ? null : (names.find((name) => bareName(name.slice(name.lastIndexOf('.') + 1)) === last) ?? null);
}

/** The operator that the names of an object without `$` stand for; null: there is one that stands for none. */
function operatorIn(value: JsonValue): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  const names = Object.keys(value);
  const operators = names.map((name) => OPERATORS_BY_NAME.get(bareName(name)) ?? null);
  return operators.includes(null) ? null : (operators[0] ?? null);
}

/** How dates are written under a path, in words. */
function formWords(form: string): string {
  if (form === DATE_ONLY) return 'dates without a time';
  return form === LOCAL_TIME ? 'times without an offset' : `times with the offset ${form}`;
}

/** The warning that a bound is compared with texts that are written otherwise; null: they are not. */
export function dateHint({ path, bound, form }: AskedDate, forms: readonly string[]): string | null {
  const others = forms.filter((other) => other !== form);
  if (others.length === 0) return null;
  const found = others.map(formWords).join(', ');
  return `${shownName(path)} is compared as a text, not as a time: the bound ${shownName(bound)} is one of the ${formWords(form)}, and items have ${found}; write all in one form, best in UTC with Z`;
}
