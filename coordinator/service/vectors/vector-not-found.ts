import { QuiverError } from '../../../shared/base/errors/quiver-error';

/** The error of every call that names an item that does not exist. */
export function vectorNotFound(collection: string, externalId: string): QuiverError {
  return new QuiverError(
    'not_found',
    `vector ${JSON.stringify(externalId)} does not exist in collection "${collection}"`,
  );
}
