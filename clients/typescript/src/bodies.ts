import { InvalidValueError } from './errors';
import { type CallIds, idText } from './ids';
import { below, jsonValue } from './sent-values';
import type { ExternalId, VectorLike } from './values';
import { base64FromVector } from './vectors';

/** Lists of objects that may have a vector. */
const LISTS: ReadonlySet<string> = new Set(['positives', 'negatives', 'legs']);

/** What an item may have, as far as bodies look at it. */
interface ItemFields {
  external_id: ExternalId;
  vector?: VectorLike | undefined;
}

/**
 * An item as it is sent. `position` is its number in the call, `ids` those before it. Throws an InvalidValueError that
 * names the item and the field.
 */
export function itemBody(item: ItemFields, position?: number, ids?: CallIds): Record<string, unknown> {
  let externalId: string | null = null;
  try {
    if (typeof item !== 'object' || item === null) throw new InvalidValueError('is no object with an external_id');
    const { external_id, ...others } = item;
    externalId = idText(external_id);
    if (ids !== undefined && position !== undefined) ids.textOf(external_id, position);
    return { external_id: externalId, ...fieldsBody(others) };
  } catch (error) {
    throw error instanceof InvalidValueError ? error.ofItem(position ?? null, externalId) : error;
  }
}

/**
 * The fields of a request as they are sent: vectors as base64, all others as JSON has them. Places begin with `field`.
 */
export function fieldsBody<Given extends object>(given: Given, field = ''): Given {
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const place = field === '' ? name : `${field}.${name}`;
    if (value === undefined || value === null) body[name] = jsonValue<unknown>(value, place);
    else if (name === 'vector') body[name] = vectorBody(value as VectorLike, place);
    else if (LISTS.has(name) && Array.isArray(value))
      body[name] = value.map((element: object, i) => fieldsBody(element, `${place}[${i}]`));
    else if (name === 'like' && typeof value === 'object') body[name] = fieldsBody(value as object, place);
    else body[name] = jsonValue<unknown>(value, place);
  }
  return body as Given;
}

/** A vector as it is sent. */
export function vectorBody(vector: VectorLike, field: string): string {
  try {
    return base64FromVector(vector);
  } catch (error) {
    throw below(field, error);
  }
}
