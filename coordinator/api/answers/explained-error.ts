import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { nearestName } from '../../../shared/base/text/nearest-name';

/**
 * The error as a client should see it: that of a collection that does not exist also says the nearest name there is.
 * `collectionNames` answers those that the client may list, so that tells nobody anything new.
 */
export async function explainedError(error: unknown, collectionNames: () => Promise<string[]>): Promise<unknown> {
  if (!isQuiverError(error) || error.kind !== 'not_found' || typeof error.details.collection !== 'string') return error;
  try {
    const nearest = nearestName(error.details.collection, await collectionNames());
    return nearest === null
      ? error
      : new QuiverError(error.kind, `${error.message}; did you mean ${JSON.stringify(nearest)}?`, { cause: error });
  } catch {
    // The names are a courtesy: what failed is still that the collection does not exist.
    return error;
  }
}
