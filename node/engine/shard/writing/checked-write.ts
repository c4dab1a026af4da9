import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { JsonObject } from '../../../../shared/contract/filter/filter';
import {
  type DeleteOperation,
  type ExpireOperation,
  type ImportOperation,
  type DedupOperation,
  NO_TERM,
  type PatchOperation,
  PLAIN_STEP,
  type StageOperation,
  type UpsertOperation,
  type WriteOperation,
} from '../../../../shared/contract/shard/shard-client';
import { isStepNote } from '../../../../shared/contract/shard/step-note';
import { mergedObject } from '../../../../shared/contract/writes/merged-object';
import { parsedMetadata } from '../shard-indexes';

/** What a directory entry can hold of an id; callers allow 512 characters. */
const EXTERNAL_ID_LENGTH_MAX = 16_383;

const HEX_128 = /^[0-9a-f]{32}$/;

/** An operation on its way through a shard. `parsed`: its metadata, where the check has parsed them. */
export type ShardOperation =
  | (UpsertOperation & { parsed?: JsonObject })
  | PatchOperation
  | DeleteOperation
  | (ImportOperation & { parsed?: JsonObject })
  | StageOperation
  | DedupOperation
  | ExpireOperation;

/** Gets the metadata of an item that is to be stored. */
type MetadataLook = (metadata: JsonObject, operation: { externalId: string }) => void;

/**
 * Refuses operations that could be stored but never applied: with such a record, the shard could never be opened again.
 * Callers have checked what clients send, so a refusal is a programming error. One operation per step. `look` gets the
 * metadata of each upsert that has any, and may refuse, too. Errors: internal; those of `look`.
 */
export function* checkOperations(
  operations: WriteOperation[],
  dim: number,
  look: MetadataLook,
): Generator<undefined, ShardOperation[]> {
  const checked: ShardOperation[] = [];
  for (let i = 0; i < operations.length; i += 1) {
    const operation = operations[i];
    if (operation.type === 'dedup' && ((i > 0 && operation.term === NO_TERM) || !isDedup(operation)))
      throw refusal('a mark that is none, or in the wrong place');
    checked.push(checkedOperation(operation, dim, look));
    yield;
  }
  return checked;
}

function checkedOperation(operation: WriteOperation, dim: number, look: MetadataLook): ShardOperation {
  if (operation.type === 'stage') return checkedStage(operation);
  if (operation.type === 'dedup') return operation;
  const { externalId } = operation;
  if (typeof externalId !== 'string' || externalId.length === 0 || externalId.length > EXTERNAL_ID_LENGTH_MAX)
    throw refusal('an external id of this length');
  if (operation.type === 'delete' || operation.type === 'expire') return operation;
  if (operation.type === 'patch') return checkedPatch(operation, dim, look);
  const item = operation.type === 'import' ? operation.item : operation;
  if (item === null) return operation;
  if (item.vector.length !== dim)
    throw refusal(`a vector of ${item.vector.length} elements in a shard of dimension ${dim}`);
  if (!Number.isSafeInteger(item.stamp) || item.stamp < 0) throw refusal('a stamp that is no safe integer');
  if (item.metadata === undefined) return operation;
  const parsed = checkedMetadata(item.metadata);
  look(parsed, operation);
  return operation.type === 'upsert' ? parsedUpsert(operation, parsed) : { ...operation, parsed };
}

/** Written out, so that nearly all operations have one shape: what reads them later is compiled for it once. */
function parsedUpsert(operation: UpsertOperation, parsed: JsonObject): ShardOperation {
  const { externalId, vector, stamp, metadata, text } = operation;
  const isPlain =
    operation.expected === undefined &&
    operation.alone === undefined &&
    operation.expiresAt === undefined &&
    operation.ttlMs === undefined;
  return isPlain ? { type: 'upsert', externalId, vector, stamp, metadata, text, parsed } : { ...operation, parsed };
}

function isDedup({ token, digest, nowMs, keptMs, term, step, note }: DedupOperation): boolean {
  const isNumbered = Number.isSafeInteger(nowMs) && Number.isSafeInteger(keptMs) && Number.isSafeInteger(term);
  return (
    HEX_128.test(token) &&
    HEX_128.test(digest) &&
    isNumbered &&
    (term !== NO_TERM || step === PLAIN_STEP || isStepNote(note))
  );
}

function checkedPatch(operation: PatchOperation, dim: number, look: MetadataLook): PatchOperation {
  const { vector, metadata } = operation;
  if (vector !== undefined && vector.length !== dim)
    throw refusal(`a vector of ${vector.length} elements in a shard of dimension ${dim}`);
  if (metadata === undefined) return operation;
  const parsed = checkedMetadata(metadata.json);
  // What is merged takes away what is null, which claims nothing. What replaces holds it.
  look(metadata.replaces ? parsed : mergedObject({}, parsed), operation);
  return operation;
}

function checkedStage(operation: StageOperation): StageOperation {
  const { term, forget } = operation;
  if (!Number.isSafeInteger(term) || term < 1 || !Number.isSafeInteger(forget) || forget < 0)
    throw refusal('a term that is no safe integer');
  return operation;
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
