import { QuiverError } from '../../shared/errors/quiver-error';
import type { JsonObject } from '../../shared/filter/filter';
import type { UpsertOperation, WriteOperation } from '../../shared/shard/shard-client';
import { parsedMetadata } from './shard-indexes';

/** What a directory entry can hold of an id; callers allow 512 characters. */
const EXTERNAL_ID_LENGTH_MAX = 16_383;

/**
 * Refuses operations that could be stored but never applied: with such a record, the shard could never be opened again.
 * Callers have checked what clients send, so a refusal is a programming error. One operation per step. `look` gets the
 * metadata of each upsert that has any, and may refuse, too. Errors: internal; those of `look`.
 */
export function* checkOperations(operations: WriteOperation[], dim: number, look: (metadata: JsonObject, operation: UpsertOperation) => void): Generator<undefined, void> {
  for (const operation of operations) {
    const { externalId } = operation;
    if (typeof externalId !== 'string' || externalId.length === 0 || externalId.length > EXTERNAL_ID_LENGTH_MAX) throw refusal('an external id of this length');
    if (operation.type === 'delete') continue;
    if (operation.vector.length !== dim) throw refusal(`a vector of ${operation.vector.length} elements in a shard of dimension ${dim}`);
    if (!Number.isSafeInteger(operation.stamp) || operation.stamp < 0) throw refusal('a stamp that is no safe integer');
    if (operation.metadata !== undefined) look(checkedMetadata(operation.metadata), operation);
    yield;
  }
}

function checkedMetadata(text: string): JsonObject {
  if (text.startsWith('{')) {
    try {
      return parsedMetadata(text);
    } catch {
      // Refused below.
    }
  }
  throw refusal('metadata that is no JSON object');
}

function refusal(what: string): QuiverError {
  return new QuiverError('internal', `a shard was given ${what}`);
}
