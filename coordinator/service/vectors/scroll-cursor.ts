import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { cursorOf, elementsOf } from '../opaque-cursor';

/**
 * Where a scroll continues: after this item in insertion order. The item itself need not exist, so the position
 * survives changes.
 */
export interface ScrollPosition {
  stamp: number;
  externalId: string;
}

/** Increased when the fields change their meaning; cursors of another version are refused. */
const VERSION = 1;
/** The position as an opaque text that only this collection accepts (not one made again under its name). */
export function cursorFromPosition(collectionUid: string, position: ScrollPosition): string {
  return cursorOf([VERSION, collectionUid, position.stamp, position.externalId]);
}

/** Errors: invalid_parameter when the text is not a cursor, or that of another collection. */
export function positionFromCursor(collectionUid: string, cursor: string): ScrollPosition {
  const [version, uid, stamp, externalId, ...rest] = elementsOf(cursor);
  const isWhole =
    version === VERSION &&
    typeof uid === 'string' &&
    Number.isSafeInteger(stamp) &&
    typeof externalId === 'string' &&
    rest.length === 0;
  if (!isWhole) throw new QuiverError('invalid_parameter', 'Invalid cursor: it is not one that a scroll answered');
  if (uid !== collectionUid)
    throw new QuiverError('invalid_parameter', 'Invalid cursor: it belongs to another collection');
  return { stamp: stamp as number, externalId: externalId as string };
}
