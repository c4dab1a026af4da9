import { resultOf } from '../../base/time/work-slices';
import {
  aligned,
  COUNTED_VERSION,
  DATED_VERSION,
  DELETE_BYTES,
  HEADER_BYTES,
  malformed,
  NUMBER_BYTES,
  OPERATIONS_VERSION,
  PLAIN_VERSION,
  STAGE_BYTES,
  TIMED_HEADER_BYTES,
  TIMED_VERSION,
  TYPE_STAGE,
} from './operation-format';
import { OperationReader } from './operation-reader';
import {
  expiryBytes,
  filtersToWrite,
  metadataRepeated,
  numberOf,
  operationBytes,
  writeDated,
  writeExpiry,
  writeNumber,
  writeOperation,
} from './operation-writing';
import type { WriteOperation } from '../shard/shard-client';
import { SHARD_STAGES, type ShardStage } from '../shard/shard-stage';

/**
 * Its moment is 0 until whoever puts it into a log sets it (see {@link stampMoment}). `dated`: versions are to tell
 * when items changed.
 */
export function operationsToBytes(operations: readonly WriteOperation[], dated = false): Buffer {
  return resultOf(operationsToBytesInSteps(operations, dated));
}

/** Like {@link operationsToBytes}, one operation measured or written per step. */
export function* operationsToBytesInSteps(
  operations: readonly WriteOperation[],
  dated = false,
): Generator<undefined, Buffer> {
  let size = TIMED_HEADER_BYTES;
  const filters = filtersToWrite(operations);
  const isSame = metadataRepeated(operations);
  for (let i = 0; i < operations.length; i++) {
    size +=
      aligned(operationBytes(operations[i], filters[i], isSame[i])) +
      (numberOf(operations[i]) === undefined ? 0 : NUMBER_BYTES) +
      expiryBytes(operations[i]);
    yield;
  }
  const bytes = Buffer.allocUnsafeSlow(size);
  bytes.writeUInt32LE(dated ? DATED_VERSION : TIMED_VERSION, 0);
  bytes.writeUInt32LE(operations.length, 4);
  bytes.writeDoubleLE(0, HEADER_BYTES);
  let at = TIMED_HEADER_BYTES;
  for (let i = 0; i < operations.length; i++) {
    const end = writeOperation(bytes, at, operations[i], filters[i], isSame[i]);
    const start = at;
    at = aligned(end);
    bytes.fill(0, end, at);
    at = writeNumber(bytes, start, at, operations[i]);
    at = writeExpiry(bytes, start, at, operations[i]);
    if (dated) writeDated(bytes, start, operations[i]);
    yield;
  }
  return bytes;
}

/** Whether a shard counts versions from this write on. */
export function isCounted(bytes: Buffer): boolean {
  return operationsVersionOf(bytes) >= COUNTED_VERSION;
}

/** Whether the versions that this write gives tell when items changed. */
export function isDated(bytes: Buffer): boolean {
  return operationsVersionOf(bytes) >= DATED_VERSION;
}

/** Whether they are to, of a write without imports that has no moment yet. */
export function setDated(bytes: Buffer, dated: boolean): void {
  if (operationsVersionOf(bytes) >= TIMED_VERSION) bytes.writeUInt32LE(dated ? DATED_VERSION : TIMED_VERSION, 0);
}

/**
 * The moment of a write; 0 for one of a form without moments, or to which none was given yet: nothing has expired by
 * then.
 */
export function momentOf(bytes: Buffer): number {
  return operationsVersionOf(bytes) >= TIMED_VERSION && bytes.length >= TIMED_HEADER_BYTES
    ? bytes.readDoubleLE(HEADER_BYTES)
    : 0;
}

/** Gives a write its moment, in place, if its form has one. */
export function stampMoment(bytes: Buffer, atMs: number): void {
  if (operationsVersionOf(bytes) >= TIMED_VERSION && bytes.length >= TIMED_HEADER_BYTES)
    bytes.writeDoubleLE(atMs, HEADER_BYTES);
}

/** The stage that a write gives its shard, and nothing else: stages come alone; null: it gives none. */
export function stageIn(bytes: Buffer): { stage: ShardStage; term: number } | null {
  const start = operationsVersionOf(bytes) >= TIMED_VERSION ? TIMED_HEADER_BYTES : HEADER_BYTES;
  if (bytes.length < start + STAGE_BYTES || bytes.readUInt32LE(4) !== 1 || bytes[start] !== TYPE_STAGE) return null;
  const stage = SHARD_STAGES[bytes.readUInt32LE(start + 24)];
  return stage === undefined ? null : { stage, term: bytes.readDoubleLE(start + 8) };
}

/** The version under which operations were written; 0 for bytes that are too short to be any. */
export function operationsVersionOf(bytes: Buffer): number {
  return bytes.length < HEADER_BYTES ? 0 : bytes.readUInt32LE(0);
}

/** How many operations a write has, by its header. */
export function operationCountOf(bytes: Buffer): number {
  return bytes.length < HEADER_BYTES ? 0 : bytes.readUInt32LE(4);
}

/**
 * The operations that `bytes` hold. Vectors are views of `bytes` where these are aligned in memory, otherwise copies.
 * So the bytes must not change as long as an operation is in use. Errors: internal when the bytes are malformed.
 */
export function operationsFromBytes(bytes: Buffer): WriteOperation[] {
  return resultOf(operationsInSteps(bytes));
}

/** Like {@link operationsFromBytes}, one operation per step. */
export function* operationsInSteps(bytes: Buffer): Generator<undefined, WriteOperation[]> {
  const version = operationsVersionOf(bytes);
  if (version < PLAIN_VERSION || version > OPERATIONS_VERSION) throw malformed('unknown header');
  const isTimed = version >= TIMED_VERSION;
  const headerBytes = isTimed ? TIMED_HEADER_BYTES : HEADER_BYTES;
  if (bytes.length < headerBytes || (isTimed && !(momentOf(bytes) >= 0))) throw malformed('unknown header');
  const count = bytes.readUInt32LE(4);
  if (count > (bytes.length - headerBytes) / DELETE_BYTES)
    throw malformed('more operations announced than can be there');
  const operations: WriteOperation[] = new Array(count);
  const reader = new OperationReader(bytes, headerBytes, version);
  for (let i = 0; i < count; i++) {
    operations[i] = reader.next();
    yield;
  }
  if (!reader.atEnd) throw malformed('bytes after the last operation');
  return operations;
}
