import { HEADER_BYTES, TIMED_HEADER_BYTES } from '../../../shared/contract/writes/operation-format';
import { operationsToBytes } from '../../../shared/contract/writes/operation-codec';
import type { WriteOperation } from '../../../shared/contract/shard/shard-client';

/**
 * A write as an earlier program put it into a log: of version 1 to 4, which have no moment. Operations may not expire,
 * nor have a number behind them below version 3.
 */
export function earlierOperations(operations: readonly WriteOperation[], version: 1 | 2 | 3 | 4): Buffer {
  const bytes = operationsToBytes(operations);
  bytes.writeUInt32LE(version, 0);
  return Buffer.concat([bytes.subarray(0, HEADER_BYTES), bytes.subarray(TIMED_HEADER_BYTES)]);
}
