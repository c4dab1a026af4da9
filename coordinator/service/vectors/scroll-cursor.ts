import { createHash } from 'node:crypto';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { OrderKey, OrderPlace } from '../../../shared/contract/shard/item-order';
import { cursorOf, elementsOf } from '../opaque-cursor';

/**
 * Where a scroll continues: after this item in insertion order. The item itself need not exist, so the position
 * survives changes.
 */
export interface ScrollPosition {
  stamp: number;
  externalId: string;
}

/** Enough of a digest to tell orders apart. */
const DIGEST_CHARACTERS = 16;
/** Increased when the fields change their meaning; cursors of another version are refused. */
const VERSION = 1;
/** The same of cursors in an order. */
const ORDER_VERSION = 2;
/** The position as an opaque text that only this collection accepts (not one made again under its name). */
export function cursorFromPosition(collectionUid: string, position: ScrollPosition): string {
  return cursorOf([VERSION, collectionUid, position.stamp, position.externalId]);
}

/** The same of a place in an order: only a scroll in this order accepts it. */
export function cursorFromPlace(collectionUid: string, keys: readonly OrderKey[], place: OrderPlace): string {
  return cursorOf([ORDER_VERSION, collectionUid, digestOf(keys), [...place.values], place.externalId]);
}

/** Errors: invalid_parameter when the text is not a cursor, or that of another collection or order. */
export function placeFromCursor(collectionUid: string, keys: readonly OrderKey[], cursor: string): OrderPlace {
  const [version, uid, digest, values, externalId, ...rest] = elementsOf(cursor);
  if (version === VERSION) throw notOfOrder();
  const isWhole =
    version === ORDER_VERSION &&
    typeof uid === 'string' &&
    typeof digest === 'string' &&
    Array.isArray(values) &&
    values.every((value) => value === null || ['number', 'string', 'boolean'].includes(typeof value)) &&
    typeof externalId === 'string' &&
    rest.length === 0;
  if (!isWhole) throw notOne();
  if (uid !== collectionUid) throw notOfCollection();
  if (digest !== digestOf(keys) || values.length !== keys.length) throw notOfOrder();
  return { values: values as OrderPlace['values'], externalId };
}

function digestOf(keys: readonly OrderKey[]): string {
  const text = JSON.stringify(keys.map(({ field, descending, missingFirst }) => [field, descending, missingFirst]));
  return createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_CHARACTERS);
}

function notOne(): QuiverError {
  return new QuiverError('invalid_parameter', 'Invalid cursor: it is not one that a scroll answered');
}

function notOfCollection(): QuiverError {
  return new QuiverError('invalid_parameter', 'Invalid cursor: it belongs to another collection');
}

function notOfOrder(): QuiverError {
  return new QuiverError('invalid_parameter', 'Invalid cursor: it belongs to another order_by');
}

/** Errors: invalid_parameter when the text is not a cursor, or that of another collection or of an order. */
export function positionFromCursor(collectionUid: string, cursor: string): ScrollPosition {
  const [version, uid, stamp, externalId, ...rest] = elementsOf(cursor);
  const isWhole =
    version === VERSION &&
    typeof uid === 'string' &&
    Number.isSafeInteger(stamp) &&
    typeof externalId === 'string' &&
    rest.length === 0;
  if (version === ORDER_VERSION) throw notOfOrder();
  if (!isWhole) throw notOne();
  if (uid !== collectionUid) throw notOfCollection();
  return { stamp: stamp as number, externalId: externalId as string };
}
