import { QuiverError } from '../../shared/errors/quiver-error';

/** The error of every call that names a collection which is not there. */
export function collectionNotFound(name: string): QuiverError {
  return new QuiverError('not_found', `collection "${name}" does not exist`);
}
