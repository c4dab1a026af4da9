import { type AskedField, type AskedFields, askedFields } from '../fields/asked-fields';
import type { Filter } from '../../../shared/contract/filter/filter';
import type { FieldFactsRequest } from '../../../shared/contract/shard/field-facts';
import type { OrderKey } from '../../../shared/contract/shard/item-order';
import type { FilterFacts, SearchService } from '../../service/service';
import type { RequestWarnings } from '../requests/request-warnings';
import { shownName } from '../fields/field-hints';
import { dateHint, isForeign, absentFieldHint, nearField } from '../fields/filter-hints';

/** Fields of one filter that are told. */
const WARNINGS_MAX = 10;
/** Named fields of one request that are looked at. */
const NAMED_MAX = 64;
const NO_FIELDS: readonly NamedField[] = [];
const NOTHING_ASKED: AskedFields = { fields: [], dates: [], request: { paths: [], dates: [] }, areAllNeeded: true };

/** A filter of a request, and what is known of what it found. */
export interface UsedFilter {
  collection: string;
  filter: Filter | null;
  /** Whether something passed it: then its fields are there. */
  hasHits: boolean;
  /** Vectors of the collection, as far as known. */
  total?: number;
  /** Where it stands in the request. */
  place?: string;
  /** Fields by which the request groups, orders or counts. */
  named?: readonly NamedField[];
}

/** A field of the metadata that a request names for something else than a filter. */
export interface NamedField {
  path: string;
  /** Where it stands in the request. */
  place: string;
}

/**
 * Tells of filters that most likely are not what was meant: of fields that no item has, of operators without `$` and
 * forms of other products (both are such fields), and of dates that are compared as texts with dates written otherwise.
 * Tells also of other fields that a request names and no item has.
 */
export class FilterDoubts {
  constructor(private readonly search: Pick<SearchService, 'filterFacts'>) {}

  /**
   * undefined: nothing has to be waited for. Nearly always nothing has to be looked at: where all conditions are to be
   * met and something met them, the fields are there. Errors: schema_violation where the request is strict.
   */
  look(used: UsedFilter, warnings: RequestWarnings): Promise<void> | undefined {
    const { collection, filter, hasHits, total, named = NO_FIELDS } = used;
    const asked = filter === null ? NOTHING_ASKED : askedFields(filter);
    const isPlain = asked.dates.length === 0 && (hasHits ? asked.areAllNeeded : asked.fields.length === 0);
    if (isPlain && named.length === 0) return undefined;
    const doubtful = isPlain ? NOTHING_ASKED : asked;
    const facts = this.search.filterFacts(collection, withNamed(doubtful.request, named), total);
    if (facts instanceof Promise) return facts.then((later) => warn(used, doubtful, later, warnings));
    warn(used, doubtful, facts, warnings);
    return undefined;
  }
}

/** What is asked of the shards: both at once. */
function withNamed(request: FieldFactsRequest, named: readonly NamedField[]): FieldFactsRequest {
  if (named.length === 0) return request;
  const paths = named.slice(0, NAMED_MAX).map(({ path }) => path);
  return { ...request, paths: [...new Set([...request.paths, ...paths])] };
}

/** The fields by which items are ordered. `at`: where `order_by` stands in the request. */
export function orderingFields(order: readonly OrderKey[] | null | undefined, at = ''): NamedField[] {
  return (order ?? []).map(({ field }, i) => ({ path: field, place: `${at}order_by[${i}].field` }));
}

function noItemHas(place: string, field: AskedField, { names }: FilterFacts): string {
  return `${place}: no item has the field ${shownName(field.path)}${absentFieldHint(field, names)}`;
}

function warn(
  { place = 'filters', named: others = NO_FIELDS }: UsedFilter,
  { fields, dates }: AskedFields,
  facts: FilterFacts | null,
  warnings: RequestWarnings,
): void {
  if (facts === null) return;
  const missing = new Set(facts.missing);
  const unmet = fields.filter(
    (field) => missing.has(field.path) && !isInside(field.path, missing) && (!facts.isEmpty || isForeign(field)),
  );
  let named = 0;
  for (const field of unmet) {
    // Every item meets a negation without the field, and that may be meant, where no name is near.
    if (field.isNegated && !isMisspelt(field, facts.names)) continue;
    if (named++ >= WARNINGS_MAX) continue;
    warnings.doubt(noItemHas(place, field, facts));
  }
  if (named > WARNINGS_MAX) warnings.doubt(`${place}: no item has ${named - WARNINGS_MAX} more fields`);
  const dated = new Set(dates.map((date, i) => dateHint(date, facts.forms[i] ?? [])));
  for (const hint of dated) if (hint !== null) warnings.warn(`${place}: ${hint}`);
  // A collection without items has no fields yet.
  for (const { path, place: at } of facts.isEmpty ? NO_FIELDS : others)
    if (missing.has(path)) warnings.doubt(noItemHas(at, { path, isNegated: false, value: undefined }, facts));
  warnings.mustBeCertain();
}

/** Whether the path leads through another that is missing, which says it all. */
function isInside(path: string, missing: ReadonlySet<string>): boolean {
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1))
    if (missing.has(path.slice(0, dot))) return true;
  return false;
}

function isMisspelt({ path }: AskedField, names: readonly string[]): boolean {
  return nearField(path, names) !== null;
}
