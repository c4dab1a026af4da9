import { QuiverError } from '../../../shared/base/errors/quiver-error';

/** The error of every call that names a collection that does not exist. */
export function collectionNotFound(name: string): QuiverError {
  return new QuiverError('not_found', `collection "${name}" does not exist`, { details: { collection: name } });
}
